/**
 * The thread that parses TLS reports, one after the other, and queries DNS for their DKIM keys. It has no secrets and
 * may be killed at any time.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { openResolver } from '#src/net/dns-resolver.ts'
import type { ParseRequest, ParseResponse } from '#src/platform/parser-thread.ts'
import { parseTlsReportMail, type TlsReportParse } from './tls-report-parser.ts'

const DNS_TIMEOUT_MS = 2000

// workerData is missing when the module is loaded only to be compiled
const { dnsServers } = (workerData ?? { dnsServers: null }) as { readonly dnsServers: readonly string[] | null }

async function parseAll({ inputs }: ParseRequest): Promise<void> {
  for (const raw of inputs)
    parentPort?.postMessage({ results: [await parse(raw)] } satisfies ParseResponse<TlsReportParse>, [])
}

async function parse(raw: Uint8Array): Promise<TlsReportParse | null> {
  try {
    return await parseTlsReportMail(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength), (name, type) =>
      openResolver({ servers: dnsServers, timeout: DNS_TIMEOUT_MS, tries: 2 }).resolve(name, type),
    )
  } catch {
    return null
  }
}

parentPort?.postMessage({ results: [] } satisfies ParseResponse<TlsReportParse>, [])
parentPort?.on('message', (question: ParseRequest) => void parseAll(question))
