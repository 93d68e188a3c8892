import { Send } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { resendForwardConfirmation, type ForwardTarget, type InboundRoute } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'

/** The stored addresses of a route that get no mail yet, each with a button that sends its link again. */
export function UnconfirmedTargets({ route }: { readonly route: InboundRoute }): ReactNode {
  const { received } = useTexts()
  const targets = route.forward_targets.filter(({ state }) => state === 'unconfirmed')
  if (targets.length === 0) return null
  return (
    <ul aria-label={received.unconfirmedTargets} className="flex flex-col divide-y divide-line">
      {targets.map((target) => (
        <UnconfirmedTarget key={target.address} routeId={route.id} target={target} />
      ))}
    </ul>
  )
}

interface UnconfirmedTargetProps {
  readonly routeId: string
  readonly target: ForwardTarget
}

function UnconfirmedTarget({ routeId, target }: UnconfirmedTargetProps): ReactNode {
  const { received } = useTexts()
  const toast = useToast()
  const { address, link_sent_at: sentAt } = target
  const resend = useAction(resendForwardConfirmation, {
    invalidates: ['/public/inbound/routes'],
    onSuccess: () => toast({ title: received.linkSentAgain(address), tone: 'success' }),
  })
  return (
    <li className="flex items-center justify-between gap-3 py-1.5">
      <span className="min-w-0">
        <span className="block truncate" title={address}>
          {address}
        </span>
        <span className="text-sm text-muted">
          {received.unconfirmed} ·{' '}
          {sentAt === null ? (
            received.linkNotSent
          ) : (
            <>
              {received.linkSent} <RelativeTime value={sentAt} />
            </>
          )}
        </span>
      </span>
      <Button
        size="sm"
        icon={Send}
        aria-label={received.sendLinkAgainTo(address)}
        isLoading={resend.isPending}
        onClick={() => resend.mutate({ params: { id: routeId }, body: { address } })}
      >
        {received.sendLinkAgain}
      </Button>
    </li>
  )
}
