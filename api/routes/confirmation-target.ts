/** Which address of an inbound route is to get its link again. Pure. */
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import type { InboundRoute } from '#src/inbound-mail/routes.ts'

export const CONFIRMED = refuse('CONFLICT', 'This address is confirmed. Send mail to the route to see it forwarded.')
const ALL_CONFIRMED = refuse(
  'CONFLICT',
  'No address of this route waits for a confirmation. Send mail to the route to see it forwarded.',
)

/** Without a wanted address, the only one that is not confirmed. */
export function chooseTarget(
  targets: InboundRoute['forwardTargets'],
  wanted: string | undefined,
): { readonly address: string } | Refusal {
  if (wanted !== undefined) {
    const target = targets.find(({ address }) => address.toLowerCase() === wanted.toLowerCase())
    if (target === undefined) return invalid([{ path: 'address', message: 'is not in forward_to of this route' }])
    return target.state === 'unconfirmed' ? target : CONFIRMED
  }
  const [first, ...others] = targets.filter(({ state }) => state === 'unconfirmed')
  if (first === undefined) return ALL_CONFIRMED
  if (others.length === 0) return first
  const names = [first, ...others].map(({ address }) => address).join(', ')
  return invalid([{ path: 'address', message: `is needed, because several are not confirmed: ${names}` }])
}
