/**
 * The parts of an outcome case: a situation, its outcome, and functions that arrange the situation: DNS records, and a
 * receiver that behaves in a certain way.
 */
import type { Authority, Certificate } from './certificate.ts'
import type { PostOffice } from './mail-world.ts'
import { ENFORCE, type PolicyHost } from './policy-host.ts'
import type { ReceiverScript } from './receiver-script.ts'

export interface OutcomeWorld {
  readonly office: PostOffice
  readonly authority: Authority
  readonly policies: PolicyHost
  /** Used where the case is not about certificates. */
  readonly certificate: Certificate
}

export interface OutcomeCase {
  readonly situation: string
  /** The result of the first attempt, as `describeOutcome` of the test formats it. */
  readonly outcome: string
  readonly arrange: (world: OutcomeWorld, domain: string) => unknown
}

export interface OutcomeGroup {
  readonly title: string
  readonly cases: readonly OutcomeCase[]
}

type Arrange = OutcomeCase['arrange']

export function outcomeCase(situation: string, outcome: string, arrange: Arrange): OutcomeCase {
  return { situation, outcome, arrange }
}

/** A receiver that follows the script. */
export function receiver(script: ReceiverScript): Arrange {
  return ({ office, certificate }, domain) => office.open(domain, { certificate, ...script })
}

/** A receiver that sends one reply of its own, at one stage. */
export function replies(stage: keyof NonNullable<ReceiverScript['on']>, reply: string, end?: 'close'): Arrange {
  return receiver({ on: { [stage]: { raw: `${reply}\r\n`, ...(end !== undefined && { end }) } } })
}

/** DNS records without a receiver. */
export function records(
  of: (domain: string) => PostOffice['dns']['zone'][string],
  hosts: PostOffice['dns']['zone'] = {},
): Arrange {
  return ({ office: { dns } }, domain) => {
    dns.zone[domain] = of(domain)
    Object.assign(dns.zone, hosts)
  }
}

/** A receiver that accepts the message, behind changed DNS records. */
export function behind(change: PostOffice['dns']['zone'][string]): Arrange {
  return async (world, domain) => {
    await receiver({})(world, domain)
    world.office.dns.zone[domain] = { ...world.office.dns.zone[domain], ...change }
  }
}

/** A receiver behind an MTA-STS policy that enforces TLS. */
export function enforced(
  script: (world: OutcomeWorld, host: string) => Promise<ReceiverScript> | ReceiverScript,
): Arrange {
  return async (world, domain) => {
    const { office, policies } = world
    await office.open(domain, await script(world, `mx1.${domain}`))
    policies.publish(office.dns.zone, domain, ENFORCE(`mx1.${domain}`))
  }
}
