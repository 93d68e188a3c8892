/**
 * The parts of an outcome case: a situation, its outcome, and functions that arrange the situation: DNS records, and a
 * receiver that behaves in a certain way.
 */
import type { Authority, Certificate } from './certificate.ts'
import type { Testbed } from './testbed.ts'
import { ENFORCE, type PolicyHost } from './policy-host.ts'
import type { ReceiverScript } from './receiver-script.ts'

export interface OutcomeSetup {
  readonly testbed: Testbed
  readonly authority: Authority
  readonly policies: PolicyHost
  /** Used where the case is not about certificates. */
  readonly certificate: Certificate
}

export interface OutcomeCase {
  readonly situation: string
  /** The result of the first attempt, as `describeOutcome` of the test formats it. */
  readonly outcome: string
  readonly arrange: (setup: OutcomeSetup, domain: string) => unknown
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
  return ({ testbed, certificate }, domain) => testbed.addReceiver(domain, { certificate, ...script })
}

/** A receiver that sends one reply of its own, at one stage. */
export function replies(stage: keyof NonNullable<ReceiverScript['on']>, reply: string, end?: 'close'): Arrange {
  return receiver({ on: { [stage]: { raw: `${reply}\r\n`, ...(end !== undefined && { end }) } } })
}

/** DNS records without a receiver. */
export function records(
  of: (domain: string) => Testbed['dns']['zone'][string],
  hosts: Testbed['dns']['zone'] = {},
): Arrange {
  return ({ testbed: { dns } }, domain) => {
    dns.zone[domain] = of(domain)
    Object.assign(dns.zone, hosts)
  }
}

/** A receiver that accepts the message, behind changed DNS records. */
export function acceptedWithDns(change: Testbed['dns']['zone'][string]): Arrange {
  return async (setup, domain) => {
    await receiver({})(setup, domain)
    setup.testbed.dns.zone[domain] = { ...setup.testbed.dns.zone[domain], ...change }
  }
}

/** A receiver behind an MTA-STS policy that enforces TLS. */
export function enforced(
  script: (setup: OutcomeSetup, host: string) => Promise<ReceiverScript> | ReceiverScript,
): Arrange {
  return async (setup, domain) => {
    const { testbed, policies } = setup
    await testbed.addReceiver(domain, await script(setup, `mx1.${domain}`))
    policies.publish(testbed.dns.zone, domain, ENFORCE(`mx1.${domain}`))
  }
}
