import Glibc

/// A thread-local pointer, nil at first.
struct ThreadPointer {
  private let key: pthread_key_t

  init() {
    var key = pthread_key_t()
    let code = pthread_key_create(&key, nil)
    precondition(code == 0, "there is no room for another thread-specific value")
    self.key = key
  }

  var value: UnsafeMutableRawPointer? {
    get { pthread_getspecific(key) }
    nonmutating set { pthread_setspecific(key, newValue) }
  }
}
