/**
 * A file as it comes in, cut into chunks of one size, its byte order mark dropped. It gives what it has, or as its last word what is wrong:
 * too large, not UTF-8, ended early. Holds two chunks at most; the source is left as it is where it is not read to its end, because the
 * answer goes out over the same socket.
 */
import type { Readable } from 'node:stream'
import { TextDecoder } from 'node:util'
import { invalid, refuse, type Refusal } from '#src/errors.ts'

export type Piece = { readonly kind: 'piece'; readonly bytes: Buffer } | { readonly kind: 'refused'; readonly refusal: Refusal }

const BOM = Buffer.from([0xef, 0xbb, 0xbf])

export async function* cutEven(source: Readable, limit: number, size: number): AsyncGenerator<Piece> {
  let held = Buffer.alloc(0)
  let isStart = true
  for await (const piece of readText(source, limit)) {
    if (piece.kind === 'refused') {
      yield piece
      return
    }
    held = Buffer.concat([held, piece.bytes])
    if (isStart && held.length >= BOM.length) {
      held = withoutMark(held)
      isStart = false
    }
    let at = 0
    for (; at + size <= held.length; at += size) yield { kind: 'piece', bytes: held.subarray(at, at + size) }
    held = held.subarray(at)
  }
  if (held.length > 0) yield { kind: 'piece', bytes: held }
}

function withoutMark(bytes: Buffer): Buffer<ArrayBuffer> {
  return Buffer.from(bytes.subarray(bytes.subarray(0, BOM.length).equals(BOM) ? BOM.length : 0))
}

/** The pieces as they come, each judged. */
async function* readText(source: Readable, limit: number): AsyncGenerator<Piece> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let total = 0
  let wrong: Refusal | null = null
  try {
    for await (const bytes of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      wrong = total + bytes.length > limit ? tooLarge(limit) : decodes(decoder, bytes) ? null : notUtf8(total)
      if (wrong !== null) break
      total += bytes.length
      yield { kind: 'piece', bytes }
    }
    if (wrong === null && !decodes(decoder, null)) wrong = notUtf8(total)
  } catch {
    wrong = invalid([{ path: '', message: 'the file ended early' }])
  }
  if (wrong !== null) yield { kind: 'refused', refusal: wrong }
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
  return refuse('PAYLOAD_TOO_LARGE', `The file is larger than ${limit} bytes.`)
}

function notUtf8(from: number): Refusal {
  return invalid([{ path: '', message: `the file is not UTF-8 (somewhere after byte ${from}); save it as "CSV UTF-8"` }])
}
