internal import CVIPS
print(vips_version(0))
