/**
 * Logos of workspaces: hostile input. Only bitmaps are accepted, by their first bytes and not by a name, and small in
 * bytes and pixels, so a file cannot be a bomb for a browser. SVG is refused: it is a document that can have scripts
 * and load other files. The image is not decoded here. Pure.
 */

export const MAX_LOGO_BYTES = 200 * 1024
const MAX_WIDTH = 2000
const MAX_HEIGHT = 1000

interface Size {
  readonly width: number
  readonly height: number
}

interface ImageFormat {
  readonly type: string
  readonly isOf: (bytes: Buffer) => boolean
  /** Null if the file is broken. */
  readonly sizeOf: (bytes: Buffer) => Size | null
}

const startsWith = (bytes: Buffer, text: string, at = 0): boolean =>
  bytes.subarray(at, at + text.length).equals(Buffer.from(text, 'latin1'))

const FORMATS: readonly ImageFormat[] = [
  {
    type: 'image/png',
    isOf: (bytes) => startsWith(bytes, '\x89PNG\r\n\x1a\n'),
    sizeOf: (bytes) =>
      bytes.length >= 24 && startsWith(bytes, 'IHDR', 12)
        ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
        : null,
  },
  {
    type: 'image/gif',
    isOf: (bytes) => startsWith(bytes, 'GIF87a') || startsWith(bytes, 'GIF89a'),
    sizeOf: (bytes) => (bytes.length >= 10 ? { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) } : null),
  },
  { type: 'image/jpeg', isOf: (bytes) => startsWith(bytes, '\xff\xd8\xff'), sizeOf: sizeOfJpeg },
]

/** The size is in the first frame header, SOF0 to SOF15, after segments of any kind (ITU T.81, B.2). */
function sizeOfJpeg(bytes: Buffer): Size | null {
  for (let at = 2; at + 9 <= bytes.length;) {
    if (bytes[at] !== 0xff) return null
    const marker = bytes[at + 1] ?? 0
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    at += 2 + Math.max(2, bytes.readUInt16BE(at + 2))
  }
  return null
}

export type ReadLogo =
  | { readonly kind: 'logo'; readonly type: string }
  | { readonly kind: 'refused'; readonly reason: string }

export function readLogo(bytes: Buffer): ReadLogo {
  const refused = (reason: string): ReadLogo => ({ kind: 'refused', reason })
  if (bytes.length > MAX_LOGO_BYTES) return refused(`must be at most ${MAX_LOGO_BYTES / 1024} KB`)
  const format = FORMATS.find(({ isOf }) => isOf(bytes))
  if (format === undefined) return refused('must be a PNG, JPEG or GIF image; SVG is not accepted')
  const size = format.sizeOf(bytes)
  if (size === null || size.width === 0 || size.height === 0) return refused('is a broken image')
  if (size.width > MAX_WIDTH || size.height > MAX_HEIGHT)
    return refused(`must be at most ${MAX_WIDTH} pixels wide and ${MAX_HEIGHT} pixels high`)
  return { kind: 'logo', type: format.type }
}
