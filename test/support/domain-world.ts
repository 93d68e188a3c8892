/**
 * Sending domains on real stores and a real DNS server, with a clock that can be set: what their tests begin with. The operator's own
 * records are in DNS; a domain's records are published by name and value, as its owner would.
 */
import { assert } from 'chai'
import { createDomainDns, type DomainDns } from '#src/domains/domain-dns.ts'
import { addDomain, findDomain, type Domain } from '#src/domains/domains.ts'
import { domainRecords, serviceHostsOf, returnPathRecords, type DnsRecord } from '#src/domains/records.ts'
import { verifyDomain, type Verification } from '#src/domains/verify-domain.ts'
import { createContext, type TestContext } from './context.ts'
import { startDns, type TestDns, type Zone } from './dns.ts'

export interface DomainWorld {
  readonly ctx: TestContext
  readonly dns: TestDns
  readonly asker: DomainDns
  /** A new domain of a workspace, under a name of its own. */
  add(workspaceId: string, name?: string): Promise<Domain>
  /** Puts records of a domain into DNS; all of them, or those that `pick` keeps. */
  publish(domain: Domain, pick?: (record: DnsRecord) => boolean): void
  /** Takes everything of a domain out of DNS. */
  withdraw(domain: Domain): void
  /** Looks at DNS now. */
  look(domain: Domain): Promise<Verification>
  /** As it is stored. */
  read(domain: Domain): Promise<Domain>
  close(): Promise<void>
}

const HOST = 'mail.operator.example'

export async function createDomainWorld(env: Record<string, string> = {}): Promise<DomainWorld> {
  const dns = await startDns({ [HOST]: { A: ['192.0.2.1'] } })
  const ctx = await createContext({ DNS_SERVERS: dns.server, HOSTNAME: HOST, PUBLIC_URL: `https://${HOST}`, ...env })
  const place = serviceHostsOf(ctx.config)
  const asker = createDomainDns(ctx.config)
  let names = 0
  enter(dns.zone, returnPathRecords(place))
  const read = async ({ workspaceId, id }: Domain): Promise<Domain> =>
    (await findDomain(ctx.db, workspaceId, id)) ?? assert.fail('the domain is gone')
  return {
    ctx,
    dns,
    asker,
    read,
    add: async (workspaceId, name = `d${names++}.example`) => {
      const added = await addDomain(ctx, { workspaceId, name })
      return added.kind === 'added' ? added.domain : assert.fail(added.kind)
    },
    publish: (domain, pick = () => true) => enter(dns.zone, domainRecords(domain, place).filter(pick)),
    withdraw: (domain) => {
      for (const name of Object.keys(dns.zone))
        if (name === domain.domain || name.endsWith(`.${domain.domain}`)) delete dns.zone[name]
    },
    look: async (domain) => verifyDomain(ctx, asker, await read(domain)),
    close: async () => {
      await ctx.close()
      await dns.stop()
    },
  }
}

function enter(zone: Zone, records: readonly DnsRecord[]): void {
  for (const { type, name, value, priority } of records) {
    const data =
      type === 'TXT' ? { TXT: [value] } : type === 'MX' ? { MX: [[priority ?? 10, value] as const] } : { CNAME: value }
    zone[name] = { ...zone[name], ...data }
  }
}
