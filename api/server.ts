/**
 * The HTTP server around the application: bounds on slow and endless clients, answers in our shape to what is no HTTP, and an orderly end.
 * What two servers might read differently (two lengths, two hosts, white space where none may be) is refused, and the connection closed.
 * A client that is answered before it has sent everything (401, 413) may go on sending for a few seconds, so that it reads the answer.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ConfigError } from '#config/load.ts'
import { ERRORS, refuse, type ErrorCode } from '#src/platform/errors.ts'
import { refusalBody } from '#api/http/response.ts'
import { RESPONSE_HEADERS } from '#api/http/headers.ts'

export interface HttpServer {
  readonly port: number
  /** Takes nothing new, finishes what is under way (at most `graceMs`), then cuts what is left. */
  stop(graceMs: number): Promise<void>
}

export type Handler = (req: IncomingMessage, res: ServerResponse) => void

/** Milliseconds; bytes. */
export const SERVER_LIMITS = {
  /** All headers must be there by then: a browser on a bad line needs 3 s, an attacker would like minutes. */
  headersTimeout: 15_000,
  /** A whole request: 35 MB of JSON at 1 Mbit/s. */
  requestTimeout: 300_000,
  /** Longer than the idle time of common load balancers (60 s), or they would send into a connection that we just closed. */
  keepAliveTimeout: 75_000,
  /** How often the above are looked at. */
  connectionsCheckingInterval: 2000,
  maxHeaderSize: 16 * 1024,
  /** Looked at by us, so that the refusal has our shape. */
  requireHostHeader: false,
  /** A client that does not stop sending after it was answered. */
  lingerMs: 5000,
}

/**
 * Listens on the port (0: the system chooses).
 * @throws with the port and its setting in the message when it is taken or may not be used.
 */
export async function listen(handle: Handler, port: number, host: string | null, bounds = SERVER_LIMITS): Promise<HttpServer> {
  const server = createServer(bounds)
  const openResponses = new Set<ServerResponse>()
  const sockets = new Set<Socket>()
  let isStopping = false
  const onRequest: Handler = (req, res) => {
    const { socket } = req // whoever stops reading a body half way takes it from the request
    openResponses.add(res)
    res.once('close', () => {
      openResponses.delete(res)
      if (isStopping) server.closeIdleConnections()
      else if (!req.complete && !socket.destroyed) linger(req, socket, bounds.lingerMs)
    })
    if (isAmbiguous(req)) rejectRequest(res)
    else handle(req, res)
  }
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('request', onRequest)
  server.on('checkContinue', onRequest) // "100 Continue" is sent when the body is wanted, by the reader of bodies
  server.on('checkExpectation', onRequest) // nothing else can be expected of us: such a request is one like any other (RFC 9110 10.1.1)
  server.on('clientError', answerClientError)
  await open(server, port, host)
  return {
    port: (server.address() as AddressInfo).port,
    stop: async (graceMs) => {
      isStopping = true
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve())
      })
      for (const res of openResponses) res.shouldKeepAlive = false // answers "Connection: close"
      // opened ahead and never used: Node counts them as busy
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
      const timer = setTimeout(() => server.closeAllConnections(), graceMs)
      await closed
      clearTimeout(timer)
    },
  }
}

function open(server: Server, port: number, host: string | null): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(describeListenError(error, port)))
    server.listen({ port, ...(host === null ? {} : { host }), backlog: 1024 }, resolve)
  })
}

function describeListenError(error: NodeJS.ErrnoException, port: number): Error {
  if (error.code === 'EADDRINUSE')
    return new ConfigError(`port ${port} is in use; choose another with HTTP_PORT`, { cause: error })
  if (error.code === 'EACCES')
    return new ConfigError(`port ${port} may not be used by this user; choose another with HTTP_PORT`, { cause: error })
  return error
}

/** RFC 9112 3.2: of HTTP/1.1 one Host, and never two. */
function isAmbiguous({ rawHeaders, httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]?.length === 4 && rawHeaders[i]?.toLowerCase() === 'host') hosts++
  return hosts > 1 || (hosts === 0 && httpVersionMajor === 1 && httpVersionMinor === 1)
}

function rejectRequest(res: ServerResponse): void {
  const { status, headers, body } = rawResponse('VALIDATION_ERROR')
  res.writeHead(status, headers).end(body)
}

/** After the answer: lets the rest of a request come in, within bounds. Where nobody can take it any more, this is the last answer here. */
function linger(req: IncomingMessage, socket: Socket, ms: number): void {
  const timer = setTimeout(() => socket.destroy(), ms).unref()
  if (req.destroyed) socket.end()
  const ending = req.destroyed ? socket : req
  ending.once('close', () => clearTimeout(timer))
  req.resume()
}

const PARSER_ERRORS: Readonly<Record<string, ErrorCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
}

/** What could not even be read as a request is answered by hand: there is no response object for it. */
function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET' || (socket as Socket).bytesWritten > 0) {
    socket.destroy()
    return
  }
  const code = PARSER_ERRORS[error.code ?? ''] ?? 'VALIDATION_ERROR'
  const { status, headers, body } = rawResponse(code)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${code}\r\n${lines.join('')}\r\n${body}`)
}

function rawResponse(code: ErrorCode): { status: number; headers: Record<string, string | number>; body: string } {
  const { status, when } = ERRORS[code]
  const message = code === 'VALIDATION_ERROR' ? 'This is not a valid HTTP request.' : `The request is refused: ${when}.`
  const body = JSON.stringify(refusalBody(refuse(code, message)))
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
    ...RESPONSE_HEADERS,
  }
  return { status, headers, body }
}
