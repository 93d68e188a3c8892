/**
 * The HTTP server around the application: bounds on slow and endless clients, answers in our shape to what is no HTTP, and an orderly end.
 * A client that is answered before it has sent everything (401, 413) may go on sending for a few seconds, so that it reads the answer.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ERRORS, refuse, type ErrorCode } from '#src/errors.ts'
import { refusalBody } from './answer.ts'

export interface HttpServer {
  readonly port: number
  /** Takes nothing new, finishes what is under way (at most `graceMs`), then cuts what is left. */
  stop(graceMs: number): Promise<void>
}

export type Handler = (req: IncomingMessage, res: ServerResponse) => void

const BOUNDS = {
  /** All headers must be there by then: a browser on a bad line needs 3 s, an attacker would like minutes. */
  headersTimeout: 15_000,
  /** A whole request: 35 MB of JSON at 1 Mbit/s. */
  requestTimeout: 300_000,
  /** Longer than the idle time of common load balancers (60 s), or they would send into a connection that we just closed. */
  keepAliveTimeout: 75_000,
  /** How often the above are looked at. */
  connectionsCheckingInterval: 2000,
  maxHeaderSize: 16 * 1024,
}
/** A client that does not stop sending after it was answered. */
const LINGER_MS = 5000

/**
 * Listens on the port (0: the system chooses).
 * @throws with the port and its setting in the message when it is taken or may not be used.
 */
export async function listen(handle: Handler, port: number, host: string | null): Promise<HttpServer> {
  const server = createServer(BOUNDS)
  const underWay = new Set<ServerResponse>()
  let isStopping = false
  const take: Handler = (req, res) => {
    underWay.add(res)
    res.once('close', () => {
      underWay.delete(res)
      if (isStopping) server.closeIdleConnections()
      else if (!req.complete) linger(req)
    })
    handle(req, res)
  }
  server.on('request', take)
  server.on('checkContinue', take) // "100 Continue" is sent when the body is wanted, by the reader of bodies
  server.on('clientError', answerBroken)
  await open(server, port, host)
  return {
    port: (server.address() as AddressInfo).port,
    stop: async (graceMs) => {
      isStopping = true
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve())
      })
      for (const res of underWay) res.shouldKeepAlive = false // answers "Connection: close"
      const timer = setTimeout(() => server.closeAllConnections(), graceMs)
      await closed
      clearTimeout(timer)
    },
  }
}

function open(server: Server, port: number, host: string | null): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(explain(error, port)))
    server.listen({ port, ...(host === null ? {} : { host }), backlog: 1024 }, resolve)
  })
}

function explain(error: NodeJS.ErrnoException, port: number): Error {
  if (error.code === 'EADDRINUSE') return new Error(`port ${port} is in use; choose another with HTTP_PORT`, { cause: error })
  if (error.code === 'EACCES')
    return new Error(`port ${port} may not be used by this user; choose another with HTTP_PORT`, { cause: error })
  return error
}

/** After the answer: lets the rest of a request come in, within bounds. */
function linger(req: IncomingMessage): void {
  const timer = setTimeout(() => req.socket.destroy(), LINGER_MS).unref()
  req.once('close', () => clearTimeout(timer))
  req.resume()
}

const BROKEN: Readonly<Record<string, ErrorCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
}

/** What could not even be read as a request is answered by hand: there is no response object for it. */
function answerBroken(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET' || (socket as Socket).bytesWritten > 0) {
    socket.destroy()
    return
  }
  const code = BROKEN[error.code ?? ''] ?? 'VALIDATION_ERROR'
  const body = JSON.stringify(
    refusalBody(
      refuse(code, code === 'VALIDATION_ERROR' ? 'This is not an HTTP request.' : `The request is refused: ${ERRORS[code].when}.`),
    ),
  )
  const head = [
    `HTTP/1.1 ${ERRORS[code].status} ${code}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
