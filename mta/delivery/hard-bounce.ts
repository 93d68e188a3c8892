/**
 * Which results may put an address on the suppression list: hard refusals of the recipient, by its server or by DNS.
 * Sandbox addresses that simulate a refusal are excluded, so that they can be used again. Pure, except for new event
 * ids.
 */
import type { Config } from '#config/load.ts'
import { isSimulatedOutcome } from '#mta/sandbox/simulators.ts'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import type { Transition } from '#src/messages/transition.ts'
import { newId } from '#src/platform/id.ts'
import { receiverOf } from '#src/suppression/receiver.ts'
import type { HardBounce } from '#src/suppression/suppress-hard-bounces.ts'

export interface SuppressionCandidate {
  readonly transition: Transition
  /** Null: the result is no hard bounce. */
  readonly hardBounce: HardBounce | null
}

/** Adds an event id to the transition where a suppression will name that event as its cause. */
export function withSuppressionCandidate(
  config: Pick<Config, 'isSandbox' | 'captureDomain'>,
  claimed: ClaimedRecipient,
  { outcome, host }: Attempt,
  { transition, nowMs }: { readonly transition: Transition; readonly nowMs: number },
): SuppressionCandidate {
  const isHard = outcome.kind === 'bounced' && outcome.isHard && outcome.scope === 'recipient'
  const { workspaceId, address, domain, messageId } = claimed
  if (!isHard || isSimulatedOutcome(config, address)) return { transition, hardBounce: null }
  const eventId = newId(nowMs)
  const { reply, detail } = outcome
  const hardBounce: HardBounce = {
    workspaceId,
    address,
    receiver: receiverOf(host, domain),
    class: outcome.reason,
    eventId,
    messageId,
    reply: { code: reply?.code ?? null, status: reply?.enhanced ?? null, text: reply?.text ?? detail },
  }
  return { transition: { ...transition, eventId }, hardBounce }
}
