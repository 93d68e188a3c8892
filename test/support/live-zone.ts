/** The DNS records of a complete live installation of sender.example on this machine, which may have any address. */
import { assert } from 'chai'
import { createDomainDns } from '#src/domains/domain-dns.ts'
import { arpaName } from '#src/egress/ip-address.ts'
import { findOwnAddresses } from '#src/going-live/own-address.ts'
import type { TestDns, Zone } from './dns.ts'

export const LIVE_HOST = 'mail.sender.example'
export const LIVE_BOUNCES = 'bounces.sender.example'
/** The name of the address; it leads back to it. */
export const OUT_HOST = 'out.sender.example'
/** The host of a URL, and of the target of the check of port 25: all on 127.0.0.1. */
export const WEB_HOST = 'app.sender.example'
export const PROBE = 'probe.example'

export async function createLiveZone(dns: TestDns): Promise<Zone> {
  dns.zone[LIVE_HOST] = { A: ['127.0.0.1'] }
  const addresses = await findOwnAddresses(
    { serverName: LIVE_HOST },
    { dns: createDomainDns({ dnsServers: [dns.server] }) },
  )
  if ('status' in addresses) assert.fail(addresses.detail)
  const ofFamily = (isSix: boolean): string[] => addresses.filter((one) => one.includes(':') === isSix)
  return {
    [LIVE_HOST]: { A: ['127.0.0.1', ...ofFamily(false)], AAAA: ofFamily(true) },
    [LIVE_BOUNCES]: { MX: [[10, LIVE_HOST]], TXT: [`v=spf1 a:${LIVE_HOST} -all`] },
    '_dmarc.sender.example': { TXT: ['v=DMARC1; p=none'] },
    [`report-check.example._report._dmarc.${LIVE_BOUNCES}`]: { TXT: ['v=DMARC1'] },
    [OUT_HOST]: { A: ofFamily(false), AAAA: ofFamily(true) },
    [WEB_HOST]: { A: ['127.0.0.1'] },
    [PROBE]: { A: ['127.0.0.1'] },
    ...Object.fromEntries(addresses.map((address) => [arpaName(address), { PTR: [OUT_HOST] }])),
  }
}
