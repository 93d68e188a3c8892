/**
 * A customer's webhook endpoint on loopback that can be set to misbehave. It records every request that it read
 * completely. `close` also ends hanging requests.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { until } from './until.ts'

export interface ReceivedRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly at: number
}

/** What it does with a request that was read; by default it answers 200. */
export type Behaviour = (request: ReceivedRequest, response: ServerResponse) => void

export interface WebhookReceiver {
  readonly port: number
  /** Without a slash at the end. */
  readonly url: string
  readonly requests: ReceivedRequest[]
  setBehaviour(how: Behaviour): void
  /** Resolves when so many requests were read; rejects after 10 s. */
  received(count: number): Promise<readonly ReceivedRequest[]>
  /** Connections opened so far. */
  readonly connections: number
  close(): Promise<void>
}

export function respondWith(status: number, body = '', headers: Readonly<Record<string, string>> = {}): Behaviour {
  return (_, response) => void response.writeHead(status, headers).end(body)
}

export const neverRespond: Behaviour = () => undefined
/** Resets the connection instead of answering. */
export const resetConnection: Behaviour = (_, response) => void response.socket?.resetAndDestroy()

/** Listens on a port given by the system; over TLS where a key and certificate are given. */
export async function startWebhookReceiver(tls?: {
  readonly key: string
  readonly cert: string
}): Promise<WebhookReceiver> {
  const requests: ReceivedRequest[] = []
  let behaviour = respondWith(200)
  let connections = 0
  const listener = (incoming: IncomingMessage, response: ServerResponse): void => {
    let body = ''
    incoming
      .setEncoding('utf8')
      .on('data', (chunk: string) => {
        body += chunk
      })
      .on('end', () => {
        const request = { path: incoming.url ?? '', headers: incoming.headers, body, at: Date.now() }
        requests.push(request)
        behaviour(request, response)
      })
  }
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    requests,
    setBehaviour: (how) => {
      behaviour = how
    },
    received: async (count) => {
      await until(
        () => requests.length >= count,
        () => `${count} requests were awaited, ${requests.length} came`,
      )
      return requests
    },
    get connections() {
      return connections
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
