/**
 * The internet of packaging/verify/run: a DNS server whose zone can be changed, a receiver that records each message
 * with the result of its DKIM check, and an authority of certificates (pebble). All listen on one address of a network
 * namespace. A receiver on the second address accepts connections and says nothing. Control by HTTP: `PUT /zone` adds
 * names, `GET /messages` lists what arrived, `GET /authority` returns the URL of the directory and the roots to trust.
 * `/keys` is a key management service: `GET` returns the text of the last `PUT`.
 * Usage: node packaging/verify/world.ts ADDRESS SILENT_ADDRESS
 */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { json, text as textOf } from 'node:stream/consumers'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { startDns, type Zone } from '#test/support/dns.ts'
import type { ReceivedMessage } from '#test/support/receiver-connection.ts'
import { startPebble } from '#test/support/pebble.ts'
import { startReceiver } from '#test/support/receiver.ts'

const CONTROL_PORT = 8080
const [address = '127.0.0.1', silentAddress = '127.0.0.2'] = process.argv.slice(2)

const dns = await startDns({}, { host: address, port: 53 })
const receiver = await startReceiver({}, { host: address, port: 25 })
const pebble = await startPebble(dns.server, { http: 80, tls: 443, host: address })

let keys = ''
createTcpServer((socket) => socket.on('error', () => undefined)).listen(25, silentAddress)

createServer((request, response) => {
  void answer(`${request.method ?? ''} ${request.url ?? ''}`, request).then(
    (value) => response.end(typeof value === 'string' ? value : `${JSON.stringify(value)}\n`),
    (error: unknown) => response.writeHead(400).end(String(error)),
  )
}).listen(CONTROL_PORT, address)
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void pebble.stop().then(() => process.exit()))

async function answer(operation: string, body: IncomingMessage): Promise<unknown> {
  if (operation === 'PUT /zone') return Object.keys(Object.assign(dns.zone, (await json(body)) as Zone))
  if (operation === 'PUT /keys') keys = await textOf(body)
  if (operation.endsWith(' /keys')) return keys
  if (operation === 'GET /messages') return Promise.all(receiver.messages.map(describe))
  if (operation === 'GET /authority')
    return { directory: pebble.directory, roots: `${readFileSync(pebble.caFile, 'utf8')}\n${await pebble.root()}` }
  throw new Error(`unknown operation ${operation}`)
}

async function describe({ to, bytes }: ReceivedMessage): Promise<object> {
  const resolver = (name: string, type: string): Promise<string[][]> => {
    const texts = type === 'TXT' ? (dns.zone[name.toLowerCase()]?.TXT ?? []) : []
    if (texts.length > 0) return Promise.resolve(texts.map((text) => [text]))
    return Promise.reject(Object.assign(new Error(`no ${type} records of ${name}`), { code: 'ENOTFOUND' }))
  }
  const { results } = await dkimVerify(bytes, { resolver })
  const subject = /^Subject: (.*)$/im.exec(bytes.toString())?.[1]?.trim()
  return { to, subject, dkim: results.map(({ status, signingDomain }) => `${signingDomain} ${status.result}`) }
}
