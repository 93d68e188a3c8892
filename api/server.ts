/**
 * The HTTP server around the application. It chooses the handler of a request by its path, limits slow clients, answers
 * invalid HTTP with JSON errors, and stops gracefully. Requests that two servers might parse differently (two lengths,
 * two hosts, invalid white space) are refused and the connection is closed. A client that gets its response before it
 * has sent the whole body (401, 413) may go on sending for a few seconds, so that it reads the response.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createServer as createDoor, type AddressInfo, type Server as PortServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { SecureContext } from 'node:tls'
import { ConfigError } from '#config/load.ts'
import { LiveSet } from '#src/concurrency/live-set.ts'
import { takePassedSocket } from '#src/net/passed-sockets.ts'
import { ERRORS, refuse, type ErrorCode } from '#src/platform/errors.ts'
import { newId } from '#src/platform/id.ts'
import { isTakenFrom } from '#api/http/detached-response.ts'
import { refusalBody, type ErrorSource } from '#api/http/response.ts'
import { RESPONSE_HEADERS, requestIdOf } from '#api/http/headers.ts'

export interface HttpServer {
  readonly port: number
  /** Stops accepting, waits for open requests (at most `graceMs`), then closes the remaining connections. */
  stop(graceMs: number): Promise<void>
}

export type Handler = (req: IncomingMessage, res: ServerResponse) => void

export interface Handlers {
  /** By the beginning of the path, for requests that need no application. */
  readonly byPrefix: readonly (readonly [prefix: string, handle: Handler])[]
  /** Handles all other requests. */
  readonly app: Handler
  /** Is notified of requests that are refused before a handler: they are not valid HTTP, or too slow. */
  /** PUBLIC_URL, which errors name. */
  readonly publicUrl: string
  readonly onInvalid?: (refused: { readonly peer: string; readonly status: number }) => void
}

/** Milliseconds; bytes. */
export const SERVER_LIMITS = {
  /** For all headers. A browser on a slow connection needs 3 s; slow-header attacks try to take minutes. */
  headersTimeout: 15_000,
  /** For a whole request: 35 MB of JSON at 1 Mbit/s. */
  requestTimeout: 300_000,
  /** Longer than the idle time of common load balancers (60 s), which otherwise reuse a connection that just closed. */
  keepAliveTimeout: 75_000,
  /** How often Node checks the timeouts above. */
  connectionsCheckingInterval: 2000,
  maxHeaderSize: 16 * 1024,
  /** `isAmbiguous` checks Host, so that the error has the shape of the API. */
  requireHostHeader: false,
  /** How long a client may go on sending after it got its response. */
  lingerMs: 5000,
}

export interface ListenOptions {
  /** 0 = any free port. */
  readonly port: number
  /** Null = all addresses. */
  readonly host: string | null
  /** The setting of the port, for messages and for sockets that systemd opened. */
  readonly setting: string
  readonly bounds?: typeof SERVER_LIMITS
  /** Null: plain HTTP. */
  readonly tls?: TlsOptions
}

export interface TlsOptions {
  /** By the host name that the client asks for; null: the handshake fails. */
  readonly findContext: (name: string) => SecureContext | null
  /** Calls `use` with the certificate for clients that name no host, and again when it is renewed. */
  readonly followFallback: (use: (certificate: { readonly cert: string; readonly key: string }) => void) => void
  /** What sees a connection before the TLS server; it passes it to `serve`. */
  readonly door?: (serve: (socket: Socket) => void) => (socket: Socket) => void
}

/**
 * Listens on the port, or on the socket that systemd opened in its place.
 * @throws an error that names the port and its setting, if the port is in use or not permitted.
 */
export async function listen(handlers: Handlers, options: ListenOptions): Promise<HttpServer> {
  const { bounds = SERVER_LIMITS, tls } = options
  const server = tls === undefined ? createServer(bounds) : createSecureServer(bounds, tls)
  // with a door, connections of the port reach the server through it
  const serve = (socket: Socket): void => void server.emit('connection', socket)
  const onPort: PortServer = tls?.door === undefined ? server : createDoor(tls.door(serve))
  const openResponses = new LiveSet<ServerResponse>()
  const sockets = new Set<Socket>()
  const used = new WeakSet<Socket>()
  let isStopping = false
  const onRequest: Handler = (req, res) => {
    const { socket } = req // a handler that stops reading the body destroys the request, and `req.socket` is null then
    openResponses.add(res)
    used.add(socket)
    res.once('close', () => {
      openResponses.delete(res)
      if (isStopping) server.closeIdleConnections()
      else if (!req.complete && !socket.destroyed) linger(req, socket, bounds.lingerMs)
    })
    handleRequest(handlers, req, res)
  }
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('request', onRequest)
  server.on('checkContinue', onRequest) // the body reader sends "100 Continue"
  server.on('checkExpectation', onRequest) // other expectations are ignored (RFC 9110 §10.1.1)
  server.on('clientError', (error, socket) => {
    const peer = (socket as Socket).remoteAddress ?? ''
    const status = answerClientError(error, socket, handlers.publicUrl)
    if (status !== null) handlers.onInvalid?.({ peer, status })
  })
  await open(onPort, options)
  return {
    port: (onPort.address() as AddressInfo).port,
    stop: async (graceMs) => {
      isStopping = true
      const closed = new Promise<void>((resolve) => {
        onPort.close(() => resolve())
      })
      if (onPort !== server) server.close()
      for (const res of openResponses) res.shouldKeepAlive = false // answers "Connection: close"
      // preconnected and never used: Node counts these as busy
      for (const socket of sockets) if (!used.has(socket)) socket.destroy()
      const timer = setTimeout(() => server.closeAllConnections(), graceMs)
      await closed
      clearTimeout(timer)
    },
  }
}

function handleRequest(handlers: Handlers, req: IncomingMessage, res: ServerResponse): void {
  const { socket } = req
  // sent behind a request whose response has the connection for itself
  if (isTakenFrom(res, socket)) {
    socket.destroy()
    return
  }
  res.once('close', () => isTakenFrom(res, socket) && socket.destroy())
  if (isAmbiguous(req)) {
    rejectRequest(req, res, handlers.publicUrl)
    handlers.onInvalid?.({ peer: socket.remoteAddress ?? '', status: res.statusCode })
  } else handlerOf(handlers, req.url ?? '')(req, res)
}

function handlerOf({ byPrefix, app }: Handlers, path: string): Handler {
  return byPrefix.find(([prefix]) => path.startsWith(prefix))?.[1] ?? app
}

/** A handshake that fails ends its connection, without an answer that nobody could read. */
function createSecureServer(bounds: typeof SERVER_LIMITS, { findContext, followFallback }: TlsOptions): Server {
  const server = createTlsServer({
    ...bounds,
    minVersion: 'TLSv1.2',
    handshakeTimeout: bounds.headersTimeout,
    SNICallback: (name, done) => done(null, findContext(name) ?? undefined),
  })
  followFallback((certificate) => server.setSecureContext({ ...certificate, minVersion: 'TLSv1.2' }))
  server.removeAllListeners('tlsClientError')
  server.on('tlsClientError', (_, socket) => socket.destroy())
  return server
}

function open(server: PortServer, { port, host, setting }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(describeListenError(error, port, setting)))
    const fd = takePassedSocket(setting)
    const address = fd === null ? { port, ...(host === null ? {} : { host }), backlog: 1024 } : { fd }
    server.listen(address, resolve)
  })
}

function describeListenError(error: NodeJS.ErrnoException, port: number, setting: string): Error {
  if (error.code === 'EADDRINUSE')
    return new ConfigError(`port ${port} is in use; choose another with ${setting}`, { cause: error })
  if (error.code === 'EACCES')
    return new ConfigError(`this user may not listen on port ${port}; choose another with ${setting}`, { cause: error })
  return error
}

/** RFC 9112 §3.2: HTTP/1.1 needs exactly one Host; older versions at most one. */
function isAmbiguous({ rawHeaders, httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]?.length === 4 && rawHeaders[i]?.toLowerCase() === 'host') hosts++
  return hosts > 1 || (hosts === 0 && httpVersionMajor === 1 && httpVersionMinor === 1)
}

function rejectRequest(req: IncomingMessage, res: ServerResponse, publicUrl: string): void {
  const source = { requestId: requestIdOf(req), publicUrl }
  const { status, headers, body } = rawResponse('VALIDATION_ERROR', source)
  res.writeHead(status, headers).end(body)
}

/**
 * Reads the rest of a request after the response, for at most `ms`. If the request stream is destroyed already, the
 * connection ends with this response.
 */
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

/**
 * Answers what Node could not parse as a request. There is no response object, so this writes to the socket. Returns
 * the status; null if the connection is gone or a response was sent already.
 */
function answerClientError(error: NodeJS.ErrnoException, socket: Duplex, publicUrl: string): number | null {
  if (!socket.writable || error.code === 'ECONNRESET' || (socket as Socket).bytesWritten > 0) {
    socket.destroy()
    return null
  }
  const code = PARSER_ERRORS[error.code ?? ''] ?? 'VALIDATION_ERROR'
  const { status, headers, body } = rawResponse(code, { requestId: newId(), publicUrl })
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${code}\r\n${lines.join('')}\r\n${body}`)
  return status
}

interface RawResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | number>>
  readonly body: string
}

function rawResponse(code: ErrorCode, source: ErrorSource): RawResponse {
  const { status, when } = ERRORS[code]
  const message = code === 'VALIDATION_ERROR' ? 'The request is not valid HTTP.' : `The request is refused: ${when}.`
  const body = JSON.stringify(refusalBody(refuse(code, message), source))
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
    'X-Request-Id': source.requestId,
    ...RESPONSE_HEADERS,
  }
  return { status, headers, body }
}
