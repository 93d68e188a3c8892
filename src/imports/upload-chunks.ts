/**
 * Splits an upload into chunks of equal size and drops its byte order mark. An error ends the sequence: too large, not
 * UTF-8, or ended early.
 *
 * All chunks share one buffer, and each is valid until the next is requested: a new buffer for every piece of a fast
 * upload would stay in memory far longer than it is used. A source that is not read to its end is not destroyed,
 * because the response goes out over the same socket.
 */
import type { Readable } from 'node:stream'
import { TextDecoder } from 'node:util'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'

export type UploadPiece =
  | { readonly kind: 'piece'; readonly bytes: Buffer }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

const BOM = Buffer.from([0xef, 0xbb, 0xbf])

export async function* splitIntoChunks(source: Readable, limit: number, size: number): AsyncGenerator<UploadPiece> {
  const chunk = Buffer.allocUnsafe(size)
  let filled = 0
  let isStart = true
  for await (const piece of validateUtf8(source, limit)) {
    if (piece.kind === 'refused') {
      yield piece
      return
    }
    for (let at = 0; at < piece.bytes.length;) {
      const copied = piece.bytes.copy(chunk, filled, at)
      at += copied
      filled += copied
      if (isStart && filled >= BOM.length) {
        filled = dropByteOrderMark(chunk, filled)
        isStart = false
      }
      if (filled < size) continue
      yield { kind: 'piece', bytes: chunk }
      filled = 0
    }
  }
  if (filled > 0) yield { kind: 'piece', bytes: chunk.subarray(0, filled) }
}

/** Returns the number of bytes left. */
function dropByteOrderMark(chunk: Buffer, filled: number): number {
  if (!chunk.subarray(0, BOM.length).equals(BOM)) return filled
  chunk.copyWithin(0, BOM.length, filled)
  return filled - BOM.length
}

/** Passes the pieces on after checking their size and encoding. */
async function* validateUtf8(source: Readable, limit: number): AsyncGenerator<UploadPiece> {
  // Not `isUtf8`, which creates no garbage: the decoded text makes V8 collect, and with it the buffers of the upload.
  // Measured with a fast upload of 110 MB: 40 MB less memory.
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let total = 0
  let refusal: Refusal | null = null
  try {
    for await (const bytes of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      refusal = total + bytes.length > limit ? tooLarge(limit) : decodes(decoder, bytes) ? null : notUtf8(total)
      if (refusal !== null) break
      total += bytes.length
      yield { kind: 'piece', bytes }
    }
    if (refusal === null && !decodes(decoder, null)) refusal = notUtf8(total)
  } catch {
    refusal = invalid([{ path: '', message: 'the upload ended early, or its compression is damaged' }])
  }
  if (refusal !== null) yield { kind: 'refused', refusal: refusal }
}

function decodes(decoder: TextDecoder, bytes: Buffer | null): boolean {
  try {
    if (bytes === null) decoder.decode()
    else decoder.decode(bytes, { stream: true })
    return true
  } catch {
    return false
  }
}

function tooLarge(limit: number): Refusal {
  return refuse('PAYLOAD_TOO_LARGE', `The file is larger than ${limit} bytes. Split it.`)
}

function notUtf8(from: number): Refusal {
  return invalid([
    { path: '', message: `the file is not UTF-8 (somewhere after byte ${from}); save it as "CSV UTF-8"` },
  ])
}
