/**
 * An HTTPS server for MTA-STS policies of any number of domains. The test's authority issues its certificates. A test
 * may replace the response for a domain at any time, also by a faulty one.
 */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { Authority } from './certificate.ts'
import type { Zone } from './dns.ts'

export type PolicyAnswer = string | ((request: IncomingMessage, response: ServerResponse) => void)

export interface PolicyHost {
  readonly port: number
  /** Hosts of all requests so far. */
  readonly requests: readonly string[]
  /** Puts the TXT record and the host into the zone, and the policy behind it. */
  publish(zone: Zone, domain: string, policy: PolicyAnswer, id?: string): void
  stop(): Promise<void>
}

export const ENFORCE = (...mx: string[]): string =>
  ['version: STSv1', 'mode: enforce', ...mx.map((name) => `mx: ${name}`), 'max_age: 86400', ''].join('\r\n')

export async function startPolicyHost(authority: Authority): Promise<PolicyHost> {
  const answers = new Map<string, PolicyAnswer>()
  const requests: string[] = []
  const own = await authority.issue(['policies.test'])
  const showFor = async (name: string, done: (error: Error | null, context: SecureContext) => void): Promise<void> => {
    done(null, createSecureContext(await authority.issue([name])))
  }
  const server = createServer(
    { ...own, SNICallback: (name, done) => void showFor(name, done) },
    (request, response) => {
      const name = request.headers.host?.split(':')[0] ?? ''
      requests.push(name)
      const answer = answers.get(name)
      if (typeof answer === 'function') answer(request, response)
      else if (answer === undefined || request.url !== '/.well-known/mta-sts.txt') response.writeHead(404).end()
      else response.writeHead(200, { 'content-type': 'text/plain' }).end(answer)
    },
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    publish: (zone, domain, policy, id = '1') => {
      zone[`_mta-sts.${domain}`] = { TXT: [`v=STSv1; id=${id};`] }
      zone[`mta-sts.${domain}`] = { A: ['127.0.0.1'] }
      answers.set(`mta-sts.${domain}`, policy)
    },
    stop: async () => {
      server.closeAllConnections()
      await once(server.close(), 'close')
    },
  }
}
