// The descriptor set of proto/inlier/v1 with its comments, written by protoc at build time.
        .section .rodata
        .global inlier_descriptors_begin
        .global inlier_descriptors_end
inlier_descriptors_begin:
        .incbin INLIER_DESCRIPTORS_FILE
inlier_descriptors_end:
        .byte 0
        .section .note.GNU-stack,"",%progbits
