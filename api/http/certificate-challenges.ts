/**
 * Answers the authority that issues certificates: with a file over HTTP (http-01, RFC 8555 8.3), and with a certificate
 * in a TLS handshake of its own protocol (tls-alpn-01, RFC 8737). The worker that requests a certificate stores the
 * answers, so any api process can give them. PostgreSQL away: 503, or the connection is closed, and the authority or
 * the worker tries again.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import { findHttpResponse, findTlsResponse } from '#src/certificates/challenge-store.ts'
import type { Context } from '#src/context.ts'
import { readClientHello } from './client-hello.ts'

/** What the paths of http-01 begin with. */
export const CHALLENGE_PREFIX = '/.well-known/acme-challenge/'
/** RFC 8737 6.2. */
const CHALLENGE_PROTOCOL = 'acme-tls/1'
/** For the first message of a client, and for the handshake with the authority. */
const HELLO_MS = 15_000

type ChallengeContext = Pick<Context, 'db' | 'encryption' | 'log'>

/** A handler for the paths of http-01. */
export function createChallengeResponder(
  ctx: Pick<Context, 'db' | 'log'>,
): (req: IncomingMessage, res: ServerResponse) => void {
  const answer = (res: ServerResponse, status: number, text: string): void =>
    void res.writeHead(status, { 'Content-Type': 'text/plain', 'Cache-Control': 'no-store' }).end(text)
  return (req, res) => {
    const token = (req.url ?? '').slice(CHALLENGE_PREFIX.length)
    findHttpResponse(ctx.db, token).then(
      (found) => (found === null ? answer(res, 404, 'no such challenge\n') : answer(res, 200, found)),
      (error: unknown) => {
        ctx.log.warn({ err: error }, 'failed to read a challenge; the authority got 503')
        answer(res, 503, 'try again later\n')
      },
    )
  }
}

/**
 * Reads the first message of each TLS client. One of the authority is answered here; all others go to `serve`, which
 * sees the connection as it was opened.
 */
export function createTlsDoor(ctx: ChallengeContext, serve: (socket: Socket) => void): (socket: Socket) => void {
  return (socket) => {
    let received = Buffer.alloc(0)
    const late = setTimeout(() => socket.destroy(), HELLO_MS)
    const onError = (): void => void socket.destroy()
    const onReadable = (): void => {
      for (let chunk = readChunk(socket); chunk !== null; chunk = readChunk(socket))
        received = Buffer.concat([received, chunk])
      const hello = readClientHello(received)
      if (hello.kind === 'incomplete') return
      leave()
      if (received.length > 0) socket.unshift(received)
      const { serverName, protocols } = hello.kind === 'hello' ? hello : { serverName: null, protocols: [] }
      if (serverName !== null && protocols.includes(CHALLENGE_PROTOCOL)) void answerAuthority(ctx, socket, serverName)
      else serve(socket)
    }
    const leave = (): void => {
      clearTimeout(late)
      socket.off('readable', onReadable).off('error', onError).off('end', onError).off('close', leave)
    }
    socket.on('readable', onReadable).on('error', onError).on('end', onError).on('close', leave)
  }
}

function readChunk(socket: Socket): Buffer | null {
  return socket.read() as Buffer | null
}

/** The handshake is the answer; nothing follows it. */
async function answerAuthority(ctx: ChallengeContext, socket: Socket, name: string): Promise<void> {
  socket.on('error', () => socket.destroy())
  const late = setTimeout(() => socket.destroy(), HELLO_MS)
  socket.once('close', () => clearTimeout(late))
  try {
    const found = await findTlsResponse(ctx, name)
    if (found === null) return void socket.destroy()
    const secure = new TLSSocket(socket, {
      isServer: true,
      secureContext: createSecureContext(found),
      ALPNProtocols: [CHALLENGE_PROTOCOL],
    })
    secure.on('error', () => secure.destroy())
    secure.once('secure', () => secure.end())
  } catch (error) {
    ctx.log.warn({ err: error, name }, 'failed to answer a challenge over TLS')
    socket.destroy()
  }
}
