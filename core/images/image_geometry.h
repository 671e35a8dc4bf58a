// Geometric operations on images. Pixels from outside of an image are black.
#ifndef INLIER_CORE_IMAGES_IMAGE_GEOMETRY_H_
#define INLIER_CORE_IMAGES_IMAGE_GEOMETRY_H_

#include "core/images/image.h"

namespace inlier {

// REQUIRES: the box lies within the image.
Image Crop(const Image& image, int top, int left, int height, int width);

// `pixels` of black added on every side.
Image PadWithBlack(const Image& image, int pixels);

// Left and right exchanged.
Image Mirror(const Image& image);

enum class ResizeFilter { kBilinear, kBicubic };

// To height x width with an antialiasing filter, to the bytes that Pillow 13 gives: rows and columns in two
// passes, each rounded and clipped. Bicubic: Keys 1981 with a = -0.5.
Image Resize(const Image& image, int height, int width, ResizeFilter filter);

// The square of `side` in the middle of the image whose shorter side is scaled to `shorter_side`, the other in
// proportion, to the bytes that torchvision's Resize and CenterCrop give. Only the square is computed.
// REQUIRES: side <= shorter_side.
Image ResizeToMiddle(const Image& image, int shorter_side, int side, ResizeFilter filter);

// The three below keep the size, and interpolate linearly between the four pixels around a place.
//
// Counter-clockwise about the middle.
Image Rotate(const Image& image, double degrees);
// A pixel that lies y below and x right of the middle goes right by along_x * y and down by along_y * x.
// REQUIRES: one is 0.
Image Shear(const Image& image, double along_x, double along_y);
// Right and down, in pixels.
Image Translate(const Image& image, double right, double down);

}  // namespace inlier

#endif  // INLIER_CORE_IMAGES_IMAGE_GEOMETRY_H_
