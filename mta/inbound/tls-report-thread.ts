/**
 * The thread that reads reports on TLS, one after the other, and asks DNS for the keys that they are signed with. It has no secrets, and
 * may be killed at any time.
 */
import { Resolver } from 'node:dns/promises'
import { parentPort, workerData } from 'node:worker_threads'
import type { Answer, Question } from './reader-thread.ts'
import { readTlsArrival, type TlsReading } from './tls-report-reading.ts'

const DNS_TIMEOUT_MS = 2000

// no data: it is loaded only to be compiled
const { dnsServers } = (workerData ?? { dnsServers: null }) as { readonly dnsServers: readonly string[] | null }
const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: 2 })
if (dnsServers !== null) resolver.setServers(dnsServers)

async function readAll({ raws }: Question): Promise<void> {
  for (const raw of raws) parentPort?.postMessage({ reports: [await read(raw)] } satisfies Answer<TlsReading>, [])
}

async function read(raw: Uint8Array): Promise<TlsReading | null> {
  try {
    return await readTlsArrival(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength), (name, type) =>
      resolver.resolve(name, type),
    )
  } catch {
    return null
  }
}

parentPort?.postMessage({ reports: [] } satisfies Answer<TlsReading>, [])
parentPort?.on('message', (question: Question) => void readAll(question))
