/** Calls of /public/domains, for tests of one API with one DNS server. */
import { assert } from 'chai'
import { listOf, textOf, type Json, type TestApi, type TestResponse } from '#test/support/api.ts'
import type { TestDns } from '#test/support/dns.ts'

const BASE = '/public/domains'
export const HOST = 'mail.operator.example'
export const BOUNCES = `bounces.${HOST}`

/** What the service itself has in DNS. */
export const SERVICE_ZONE = {
  [HOST]: { A: ['192.0.2.1'] },
  [`shop.example._report._dmarc.${BOUNCES}`]: { TXT: ['v=DMARC1'] },
  [BOUNCES]: { MX: [[10, HOST] as const], TXT: [`v=spf1 a:${HOST} -all`] },
}

/** A refusal in short: status, success and error. */
export const refused = ({ status: code, body }: TestResponse): unknown[] => [code, body['success'], body['error']]

export interface DomainCalls {
  readonly call: (method: string, path: string, body?: unknown, key?: string) => Promise<TestResponse>
  /** Adds a domain, under a name of its own where none is given. */
  readonly add: (body?: object, key?: string) => Promise<Json>
  readonly publish: (domain: Json) => void
  readonly verify: (domain: Json, key?: string) => Promise<TestResponse>
  readonly createKey: (body: object, key?: string) => Promise<TestResponse>
  readonly send: (key: string, from: string) => Promise<TestResponse>
}

/** The calls of an API and a DNS server that a hook starts later. */
export function domainCalls(started: () => { readonly api: TestApi; readonly dns: TestDns }): DomainCalls {
  let names = 0
  const call: DomainCalls['call'] = (method, path, body, key = started().api.admin) =>
    started().api.call(method, `${BASE}${path}`, { key, ...(body === undefined ? {} : { body }) })
  return {
    call,
    add: async (body = { domain: `d${names++}.example` }, key) => {
      const answer = await call('POST', '/add-domain', body, key)
      assert.strictEqual(answer.status, 201, JSON.stringify(answer.body))
      return answer.body['data'] as Json
    },
    publish: (domain) => {
      const { zone } = started().dns
      for (const record of listOf(domain['dns_records'])) {
        const [name, value] = [textOf(record['name']), textOf(record['value'])]
        const type = textOf(record['type'])
        zone[name] = {
          ...zone[name],
          ...(type === 'TXT' ? { TXT: [value] } : type === 'MX' ? { MX: [[10, value] as const] } : { CNAME: value }),
        }
      }
    },
    verify: (domain, key) => call('POST', `/verify-domain/${textOf(domain['id'])}`, undefined, key),
    createKey: (body, key) => call('POST', '/api-keys/create', body, key),
    send: (key, from) =>
      started().api.call('POST', '/send-email/instant', {
        key,
        body: { from, to: ['ann@receiver.example'], subject: 'Hello', body: 'Hello' },
      }),
  }
}
