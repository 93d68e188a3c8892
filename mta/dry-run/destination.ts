/** The steps between the gates and the connection: route, receiver limits, addresses and TLS policy. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Addresses } from '#mta/route/addresses.ts'
import type { Host } from '#mta/route/route.ts'
import type { TlsPolicy } from '#mta/security/policy.ts'
import type { DryRunStep } from '#src/operator/dry-runs.ts'
import { checkLimits } from './gates.ts'
import type { ComposedMail, DryRunContext } from './dry-run-context.ts'
import { probeDestination } from './session.ts'
import { fail, ok, warn } from './steps.ts'

const SECOND = 1000
/** Longer than the timeout of a policy fetch. */
const POLICY_TIMEOUT_MS = 16 * SECOND
const POLICY_POLL_MS = 250
/** A longer wait is reported. */
const POLICY_REPORT_MS = 500

/** Runs the steps from DNS to RCPT. Returns the local address of the connection; null if none was made. */
export async function checkDestination(run: DryRunContext, mail: ComposedMail): Promise<string | null> {
  const {
    ctx,
    domain,
    sender,
    steps,
    openPipeline: { pipeline: stages },
  } = run
  const route = await stages.route(domain)
  if (route.kind !== 'hosts') {
    const todo =
      route.kind === 'refused'
        ? 'the domain of the recipient accepts no mail: check the address'
        : 'check that DNS_SERVERS answer; a real message would be retried'
    steps.push(fail('MX', route.text, todo))
    return null
  }
  steps.push(
    ok('MX', `${route.hosts.map(({ name, preference }) => `${name} (${preference})`).join(', ')}; site ${route.site}`),
  )
  steps.push(await checkLimits(ctx, sender, domain, route))
  steps.push(await findAddresses(run, route.hosts))
  const { tls, waitedMs } = await awaitPolicy(run, route.hosts)
  steps.push(tlsStep(tls, waitedMs))
  return probeDestination(run, mail, { hosts: route.hosts, tls })
}

/** Waits for a policy fetch in progress, as a delivery does, but no longer than a fetch may take. */
async function awaitPolicy(
  { domain, openPipeline: { pipeline: stages } }: DryRunContext,
  hosts: readonly Host[],
): Promise<{ tls: TlsPolicy; waitedMs: number }> {
  const began = performance.now()
  for (;;) {
    const tls = await stages.tlsPolicy(domain, hosts)
    const waitedMs = Math.round(performance.now() - began)
    if (!tls.isPending || waitedMs > POLICY_TIMEOUT_MS) return { tls, waitedMs }
    await sleep(POLICY_POLL_MS)
  }
}

async function findAddresses(
  { openPipeline: { opening } }: DryRunContext,
  hosts: readonly Host[],
): Promise<DryRunStep> {
  const found = await Promise.all(
    hosts.slice(0, 5).map(async (host) => ({ host: host.name, result: await opening.findAddresses(host) })),
  )
  const says = found.map(({ host, result }) => `${host}: ${addressText(result)}`).join('; ')
  const usable = found.filter(({ result }) => result.kind === 'addresses')
  if (usable.length === 0) return fail('addresses', says, 'no host of the receiver has a usable address')
  return usable.length === found.length
    ? ok('addresses', says)
    : warn('addresses', says, 'delivery uses the other hosts')
}

function addressText(result: Addresses): string {
  return result.kind === 'addresses' ? result.addresses.map(({ address }) => address).join(', ') : result.text
}

function tlsStep({ isRequired, dane, sts, stsFailure, isPending, domain }: TlsPolicy, waitedMs: number): DryRunStep {
  const parts = [
    isRequired ? 'required by the operator' : 'used if offered',
    dane === 'no' ? 'no DANE' : `DANE: ${dane}`,
    sts === null
      ? 'no MTA-STS'
      : `MTA-STS ${sts.mode}${waitedMs < POLICY_REPORT_MS ? '' : `, known after ${waitedMs} ms`}`,
  ]
  if (isPending)
    return warn(
      'TLS policy',
      `the MTA-STS policy of ${domain} is still being fetched after ${waitedMs} ms`,
      'mail waits until the policy is available or its fetch fails',
    )
  if (stsFailure === null && dane !== 'unknown') return ok('TLS policy', parts.join(', '))
  return warn(
    'TLS policy',
    `${parts.join(', ')}; a lookup failed`,
    'the lookup is retried; mail waits if DANE cannot be looked up',
  )
}
