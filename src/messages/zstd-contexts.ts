/**
 * zstd (RFC 8878) with a context of each direction that stays, in each thread. Node makes one for each call, which
 * takes as long as the compression of 12 KB, and has no way to use it again; minizlib does that. Synchronous.
 *
 * A context that was given damaged octets may still wait for the end of their frame, and would read the next ones as
 * part of it. So it reads a frame of one known octet after each. Unless that gives exactly this octet, the frame was
 * damaged, and the context is discarded.
 */
import { constants, zstdCompressSync, type ZstdOptions } from 'node:zlib'
import { ZstdCompress, ZstdDecompress } from 'minizlib'

const FRAME = {
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_checksumFlag]: 1,
}
/** What a context writes into; what does not fit is allocated in chunks of that size. */
const COMPRESSED_CHUNK = 32 * 1024
const CHUNK = 128 * 1024

const SENTINEL = 0x2e
const SENTINEL_FRAME = zstdCompressSync(Buffer.from([SENTINEL]), { params: FRAME })

/** The types of minizlib hide the options of zstd, which it passes on to Node. */
type Options = ConstructorParameters<typeof ZstdCompress>[0] & ZstdOptions

interface Context {
  /** Null: it failed, and cannot be used again. */
  process(octets: Buffer): Buffer | null
}

function createContext(stream: ZstdCompress | ZstdDecompress): Context {
  let parts: Buffer[] = []
  let hasFailed = false
  stream.on('data', (part) => parts.push(part))
  stream.on('error', () => {
    hasFailed = true
  })
  return {
    process(octets) {
      parts = []
      stream.write(octets)
      const [first] = parts
      const result = parts.length === 1 && first !== undefined ? first : Buffer.concat(parts)
      parts = []
      return hasFailed ? null : result
    },
  }
}

let compressor: Context | null = null

/** The octets in a frame with a checksum. */
export function compressFrame(octets: Buffer): Buffer {
  // each write ends a frame
  const options: Options = { params: FRAME, chunkSize: COMPRESSED_CHUNK, flush: constants.ZSTD_e_end }
  compressor ??= createContext(new ZstdCompress(options))
  const frame = compressor.process(octets)
  if (frame !== null) return frame
  compressor = null
  return zstdCompressSync(octets, { params: FRAME })
}

/**
 * Returns the octets of a frame; null if they are damaged, or more than `maxLength`. Of a frame that ends within its
 * header it returns none.
 */
export function createFrameReader(maxLength: number): (frame: Buffer) => Buffer | null {
  const options: Options = { chunkSize: CHUNK, maxOutputLength: maxLength }
  let decompressor: Context | null = null
  return (frame) => {
    decompressor ??= createContext(new ZstdDecompress(options))
    const octets = decompressor.process(frame)
    const next = octets === null ? null : decompressor.process(SENTINEL_FRAME)
    if (next?.length === 1 && next[0] === SENTINEL) return octets
    decompressor = null
    return null
  }
}
