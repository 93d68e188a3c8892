/**
 * A keep-alive HTTP/1.1 connection with one request at a time, on a plain
 * socket: the client of node:http costs several times as much CPU as a send
 * costs the measured server. It reads responses with Content-Length or chunked
 * encoding only. A lost connection rejects the pending request.
 */
import { once } from 'node:events'
import { connect } from 'node:net'

export interface HttpResponse {
  readonly status: number
  readonly text: string
}

export interface HttpConnection {
  request(bytes: Buffer): Promise<HttpResponse>
  close(): void
}

/** A server on loopback. */
export interface HttpTarget {
  readonly port: number
  readonly key: string
}

export async function openConnection(port: number): Promise<HttpConnection> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  let pending = ''
  let waiting: { resolve(response: HttpResponse): void; reject(error: Error): void } | null = null
  let failure: Error | null = null
  const fail = (error: Error): void => {
    failure ??= error
    waiting?.reject(failure)
    waiting = null
  }
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    pending += chunk
    const response = parseResponse(pending)
    if (response === null) return
    pending = ''
    waiting?.resolve(response)
    waiting = null
  })
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('the server closed the connection')))
  return {
    request: (bytes) =>
      new Promise((resolve, reject) => {
        if (failure !== null) return reject(failure)
        waiting = { resolve, reject }
        socket.write(bytes)
      }),
    close: () => socket.destroy(),
  }
}

/** A whole POST request with a JSON body. */
export function sendRequest(target: HttpTarget, path: string, json: string): string {
  return [
    `POST ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${target.port}`,
    `Authorization: Bearer ${target.key}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(json)}`,
    '',
    json,
  ].join('\r\n')
}

export function getRequest(target: HttpTarget, path: string): string {
  return [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${target.port}`, `Authorization: Bearer ${target.key}`, '', ''].join(
    '\r\n',
  )
}

/** The response; null while it is incomplete. */
export function parseResponse(text: string): HttpResponse | null {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return null
  const head = text.slice(0, end)
  const status = Number(head.slice(9, 12))
  const body = text.slice(end + 4)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length !== undefined) return body.length < Number(length) ? null : { status, text: body }
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) return body.endsWith('0\r\n\r\n') ? { status, text: body } : null
  return { status, text: '' }
}
