/**
 * Joins the pieces of a body in one buffer, behind room for the signatures and the header: so the octets of a message
 * are copied once, and one buffer is allocated for it. A large file is encoded in slices, between which the event loop
 * runs.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { HeaderField } from '#src/mail/split-message.ts'
import { base64Length, writeBase64 } from './base64-lines.ts'

/** Octets as they are, also as a text with one character per octet. */
export type ReadyPiece = string | Buffer
/** A file goes in base64. */
export type Piece = ReadyPiece | { readonly file: Buffer }

/** The fields that describe a body or a part of it, and its octets: ASCII, CRLF. */
export interface Part<P extends Piece = Piece> {
  readonly fields: readonly HeaderField[]
  readonly pieces: readonly P[]
}

/** The number of unused octets before a body, in its ArrayBuffer: 0 once a message was written there. */
export interface Room {
  octets: number
}

export interface JoinedBody {
  readonly body: Buffer
  readonly room: Room
}

/** Two signatures, and fields that are added above the header. */
const ROOM = 2048
/** Octets of a file that are encoded at once, in about half a millisecond: a multiple of what one line holds. */
const SLICE = 57 * 16_384

/** Joins pieces without files. `headLength`: octets of the header, for which there is room, too. */
export function joinReady(pieces: readonly ReadyPiece[], headLength: number): JoinedBody {
  const joined = allocate(pieces, headLength)
  let at = 0
  for (const piece of pieces) at += write(piece, joined.body, at)
  return joined
}

/** Joins pieces, of which the buffers must not change meanwhile. */
export async function joinPieces(pieces: readonly Piece[], headLength: number): Promise<JoinedBody> {
  const joined = allocate(pieces, headLength)
  let at = 0
  for (const piece of pieces)
    at += isReady(piece) ? write(piece, joined.body, at) : await writeFile(piece.file, joined.body, at)
  return joined
}

function allocate(pieces: readonly Piece[], headLength: number): JoinedBody {
  let length = 0
  for (const piece of pieces) length += isReady(piece) ? piece.length : base64Length(piece.file)
  const octets = ROOM + headLength
  return { body: Buffer.allocUnsafe(octets + length).subarray(octets), room: { octets } }
}

function isReady(piece: Piece): piece is ReadyPiece {
  return typeof piece === 'string' || Buffer.isBuffer(piece)
}

/** @returns how many octets were written */
function write(piece: ReadyPiece, out: Buffer, at: number): number {
  return typeof piece === 'string' ? out.write(piece, at, 'latin1') : piece.copy(out, at)
}

async function writeFile(file: Buffer, out: Buffer, at: number): Promise<number> {
  let end = at
  for (let from = 0; from < file.length; from += SLICE) {
    if (from > 0) {
      await nextTurn()
      end += out.write('\r\n', end, 'latin1')
    }
    end = writeBase64(file.subarray(from, from + SLICE), out, end)
  }
  return end - at
}

/** The message of a header and a body, written before the body if there is room. */
export function joinMessage(top: string, { body, room }: { readonly body: Uint8Array; readonly room?: Room }): Buffer {
  if (room !== undefined && top.length <= room.octets) {
    room.octets = 0
    const message = Buffer.from(body.buffer, body.byteOffset - top.length, top.length + body.length)
    message.write(top, 0, 'latin1')
    return message
  }
  const message = Buffer.allocUnsafe(top.length + body.length)
  message.write(top, 0, 'latin1')
  message.set(body, top.length)
  return message
}
