/**
 * Which results of ours go towards the suppression list: hard refusals of the recipient, by the server or by DNS. The addresses of the
 * sandbox that play a refusal are left out, so that they can be used again.
 */
import type { Config } from '#config/load.ts'
import { isPlayed } from '#mta/sandbox/simulators.ts'
import { newId } from '#src/id.ts'
import type { Claimed } from '#src/messages/claim.ts'
import type { Moving } from '#src/messages/move.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import type { Refused } from '#src/suppression/condemn.ts'
import { receiverOf } from '#src/suppression/receiver.ts'

export interface Condemning {
  readonly moving: Moving
  readonly refused: Refused | null
}

/** The move, with the id of its event where an entry of the list will name it. */
export function withRefusal(
  config: Pick<Config, 'isSandbox' | 'captureDomain'>,
  claimed: Claimed,
  attempt: Attempt,
  moving: Moving,
): Condemning {
  const { outcome, host } = attempt
  if (outcome.kind !== 'bounced' || !outcome.isHard || outcome.scope !== 'recipient') return { moving, refused: null }
  const { workspaceId, address, domain, messageId } = claimed
  if (isPlayed(config, address)) return { moving, refused: null }
  const eventId = newId()
  const { reply, detail } = outcome
  return {
    moving: { ...moving, eventId },
    refused: {
      workspaceId,
      address,
      receiver: receiverOf(host, domain),
      class: outcome.reason,
      eventId,
      messageId,
      reply: { code: reply?.code ?? null, status: reply?.enhanced ?? null, text: reply?.text ?? detail },
    },
  }
}
