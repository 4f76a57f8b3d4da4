import Glibc

/// The executor whose work the calling thread does, as an address to compare; the innermost one if there are several.
enum RunningExecutor {
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let code = pthread_key_create(&key, nil)
    precondition(code == 0, "there is no room for another thread-specific value")
    return key
  }()

  static var current: UnsafeRawPointer? {
    get { UnsafeRawPointer(pthread_getspecific(key)) }
    set { pthread_setspecific(key, newValue) }
  }
}
