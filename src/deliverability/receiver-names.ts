/** Which receiver of the shaping file the domain of an MX host belongs to, so that Gmail is one row. Pure. */
import { findReceiver } from '#src/shaping/rule-match.ts'
import { FALLBACK, type Shaping } from '#src/shaping/shaping-file.ts'
import { receiverOf } from '#src/suppression/receiver.ts'

export interface ReceiverName {
  readonly name: string
  readonly title: string
}

/** @param domain as the statistics name a receiver: the registrable domain of the MX host */
export function receiverNameOf(shaping: Shaping, domain: string): ReceiverName {
  const hosts = [domain, `mx.${domain}`].map((name) => ({ name, isMapped: false }))
  const { name, title } = findReceiver(shaping, { domain, hosts })
  return name === FALLBACK ? { name: domain, title: domain } : { name, title }
}

/** The receiver that the key of a throttle belongs to: `google`, or `default/mx.example.com`. */
export function receiverOfThrottle(shaping: Shaping, key: string): string {
  const [name = '', site = ''] = key.split('/')
  if (name !== FALLBACK || site === '') return name
  return receiverNameOf(shaping, receiverOf(site.split('~')[0] ?? site, site)).name
}
