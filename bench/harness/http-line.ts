/**
 * One kept-alive HTTP/1.1 connection with one request at a time, on a plain
 * socket: node:http's client costs several times what a send costs the server
 * that is measured. It understands what a JSON API answers (Content-Length or
 * chunked) and no more. A lost connection rejects the request under way.
 */
import { once } from 'node:events'
import { connect } from 'node:net'

export interface Answer {
  readonly status: number
  readonly text: string
}

export interface HttpLine {
  request(bytes: Buffer): Promise<Answer>
  close(): void
}

/** A server on loopback. */
export interface Target {
  readonly port: number
  readonly key: string
}

export async function openLine(port: number): Promise<HttpLine> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  let pending = ''
  let waiting: { resolve(answer: Answer): void; reject(error: Error): void } | null = null
  let lost: Error | null = null
  const fail = (error: Error): void => {
    lost ??= error
    waiting?.reject(lost)
    waiting = null
  }
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    pending += chunk
    const answer = parseAnswer(pending)
    if (answer === null) return
    pending = ''
    waiting?.resolve(answer)
    waiting = null
  })
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('the server closed the connection')))
  return {
    request: (bytes) =>
      new Promise((resolve, reject) => {
        if (lost !== null) return reject(lost)
        waiting = { resolve, reject }
        socket.write(bytes)
      }),
    close: () => socket.destroy(),
  }
}

/** The head of a send, and the whole request with its JSON. */
export function sendRequest(target: Target, path: string, json: string): string {
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

export function getRequest(target: Target, path: string): string {
  return [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${target.port}`, `Authorization: Bearer ${target.key}`, '', ''].join(
    '\r\n',
  )
}

/** The answer once it is whole; null before. */
export function parseAnswer(text: string): Answer | null {
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
