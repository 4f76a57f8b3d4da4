/// The words that keys about pictures may have; a test keeps them the same as those of job files.
package enum ImageWords {
  package static let readable = [
    "jpeg", "png", "webp", "avif", "heif", "tiff", "gif", "svg", "pdf", "jp2", "jxl", "ppm",
  ]
  package static let writable = ["jpeg", "png", "webp", "avif", "heif", "tiff", "gif"]
  package static let fits = ["inside", "cover", "fill", "pad"]
  package static let crops = ["centre", "attention", "entropy"]
  package static let metadata = ["none", "all", "icc", "copyright"]
  package static let colours = ["srgb", "keep"]
}
