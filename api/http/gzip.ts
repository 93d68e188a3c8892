/**
 * Bodies that are compressed with gzip (RFC 9110 §8.4.1.3): those of requests, and those of responses to clients that
 * accept it. Decompression is bounded: a body may be as large as without compression, and its size is counted while it
 * arrives, so that a small body that expands to gigabytes costs its limit and no more. Pages with personal links are
 * not compressed, since the length of a compressed page can reveal a secret in it (BREACH).
 */
import type { IncomingMessage } from 'node:http'
import { Readable, pipeline } from 'node:stream'
import { promisify } from 'node:util'
import { createGunzip, createGzip, gzip } from 'node:zlib'
import type Koa from 'koa'

/** Why a body was not decompressed. */
export type GunzipProblem = 'too-large' | 'no-memory' | 'not-gzip'

/** `mayKeep` counts the bytes of the result; false if there is no room for them. */
export function gunzipBytes(
  bytes: Buffer,
  limit: number,
  mayKeep: (bytes: number) => boolean,
): Promise<Buffer | GunzipProblem> {
  return new Promise((resolve) => {
    const gunzip = createGunzip()
    const chunks: Buffer[] = []
    let size = 0
    const end = (result: Buffer | GunzipProblem): void => {
      gunzip.destroy()
      resolve(result)
    }
    gunzip.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > limit) end('too-large')
      else if (mayKeep(chunk.length)) chunks.push(chunk)
      else end('no-memory')
    })
    gunzip.once('end', () => end(Buffer.concat(chunks)))
    gunzip.once('error', () => end('not-gzip'))
    gunzip.end(bytes)
  })
}

/** A body that the handler reads fails with this error if it is not gzip, or too large. */
export class GunzipError extends Error {
  readonly problem: GunzipProblem
  constructor(problem: GunzipProblem) {
    super(`the compressed body is refused: ${problem}`)
    this.problem = problem
  }
}

/**
 * The decompressed body. The request itself stays open, so that its client gets a response. Nothing is decompressed
 * until somebody reads: a handler may refuse the request first. A body that is abandoned half-way may still fail, and
 * without a listener that error would end the process.
 */
export function gunzipStream(req: IncomingMessage, limit: number): Readable {
  return Readable.from(decompress(req, limit)).on('error', () => undefined)
}

async function* decompress(req: IncomingMessage, limit: number): AsyncGenerator<Buffer> {
  const gunzip = createGunzip().on('error', () => undefined)
  const endEarly = (): Readable => gunzip.destroy(new Error('the request ended early'))
  if (req.destroyed) endEarly()
  else req.once('close', () => req.readableEnded || endEarly()).pipe(gunzip)
  let size = 0
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > limit) throw new GunzipError('too-large')
      yield chunk
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    throw code.startsWith('Z_') ? new GunzipError('not-gzip') : error
  }
}

const COMPRESSED_TYPES = /^(?:application\/json|text\/(?:csv|css|javascript))\b/
const compress = promisify(gzip)

/** Compresses the body of the response, if its type is worth it and the client accepts it. */
export async function compressResponse(koa: Koa.Context): Promise<void> {
  const { body, res } = koa
  const type = res.getHeader('content-type')
  if (typeof type !== 'string' || !COMPRESSED_TYPES.test(type) || res.hasHeader('content-encoding')) return
  koa.vary('Accept-Encoding')
  if (koa.acceptsEncodings('gzip', 'identity') !== 'gzip') return
  koa.body = body instanceof Readable ? compressStream(body) : await compress(body as string | Buffer)
  koa.res.setHeader('Content-Encoding', 'gzip')
}

/** If the source fails, the response breaks off; if the client disconnects, the source is destroyed. */
function compressStream(source: Readable): Readable {
  return pipeline(source, createGzip(), () => undefined)
}
