/**
 * A response whose body is written to the connection for minutes or hours. Request, response and what koa made for them
 * are 20 KB, which thousands of open pages would hold. So the head is written here, and then the response counts as
 * finished: Node's HTTP server forgets the request, and the connection belongs to the body.
 *
 * Node has no function for that without an `Upgrade`. The event `finish` of a response is what its server acts on, and
 * a test beside this file fails if a later Node needs more. A client may send no further request on the connection: the
 * server (`api/server.ts`) closes it, also for a request that was sent before the head was written. A client that has
 * left before is closed here.
 */
import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type Koa from 'koa'

export interface DetachedBody {
  /** Writes to the connection, in chunks if the client understands them, and ends it. */
  attach(connection: Socket, isChunked: boolean): void
  /** There is no connection any more. */
  destroy(): void
}

const detachedSockets = new WeakSet<Socket>()
const detachedResponses = new WeakSet<ServerResponse>()

/** Whether another response has this connection for itself. */
export function isTakenFrom(res: ServerResponse, socket: Socket): boolean {
  return detachedSockets.has(socket) && !detachedResponses.has(res)
}

/** Writes the head with the headers that are set, and gives the connection to the body. */
export function detachResponse(koa: Koa.Context, body: DetachedBody): void {
  const { req, res } = koa
  const { socket } = res
  koa.respond = false
  // null: the client has left, or has sent this request before it had the response to another one
  if (socket === null || socket.destroyed || res.headersSent) {
    req.socket.destroy()
    return body.destroy()
  }
  const isChunked = req.httpVersionMajor === 1 && req.httpVersionMinor >= 1
  socket.cork()
  socket.write(headOf(res, isChunked), 'latin1')
  detachedSockets.add(socket)
  detachedResponses.add(res)
  res.emit('finish')
  socket.setTimeout(0) // the server has just set that of an idle connection
  body.attach(socket, isChunked)
  socket.uncork()
}

/** As Node would write it. The values were checked when they were set. */
function headOf(res: ServerResponse, isChunked: boolean): string {
  res.setHeader('Date', new Date().toUTCString())
  res.setHeader('Connection', 'close')
  if (isChunked) res.setHeader('Transfer-Encoding', 'chunked')
  const lines = Object.entries(res.getHeaders()).flatMap(([name, value]) =>
    [value].flat().map((one) => `${name}: ${String(one)}\r\n`),
  )
  return `HTTP/1.1 ${res.statusCode} ${STATUS_CODES[res.statusCode] ?? ''}\r\n${lines.join('')}\r\n`
}
