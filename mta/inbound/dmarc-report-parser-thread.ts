/**
 * The thread that parses DMARC reports, one after the other, and queries DNS to authenticate them. It has no secrets
 * and may be killed at any time.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { openResolver } from '#src/net/dns-resolver.ts'
import type { ParseRequest, ParseResponse } from '#src/platform/parser-thread.ts'
import { parseDmarcReportMail, type DmarcReportMail, type DmarcReportParse } from './dmarc-report-parser.ts'

/** The octets of a Buffer are a Uint8Array in a thread. */
export type DmarcMailToParse = Omit<DmarcReportMail, 'raw'> & { readonly raw: Uint8Array }

const DNS_TIMEOUT_MS = 2000

// workerData is missing when the module is loaded only to be compiled
const { dnsServers, serverName } = (workerData ?? { dnsServers: null, serverName: '' }) as {
  readonly dnsServers: readonly string[] | null
  readonly serverName: string
}

async function parse({ raw, ...mail }: DmarcMailToParse): Promise<DmarcReportParse | null> {
  const octets = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  try {
    return await parseDmarcReportMail(
      { ...mail, raw: octets },
      {
        serverName,
        resolve: (name, type) =>
          openResolver({ servers: dnsServers, timeout: DNS_TIMEOUT_MS, tries: 2 }).resolve(name, type),
      },
    )
  } catch {
    return null
  }
}

async function parseAll({ inputs }: ParseRequest<DmarcMailToParse>): Promise<void> {
  for (const mail of inputs)
    parentPort?.postMessage({ results: [await parse(mail)] } satisfies ParseResponse<DmarcReportParse>, [])
}

parentPort?.postMessage({ results: [] } satisfies ParseResponse<DmarcReportParse>, [])
parentPort?.on('message', (request: ParseRequest<DmarcMailToParse>) => void parseAll(request))
