/** Makes the next DKIM keys, after it said what happens and what it waits for. */
import { useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { rotateDkim, type Domain } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { rotationObstacle } from './key-rotation.ts'

interface RotateDkimDialogProps {
  readonly domain: Domain
  readonly isOpen: boolean
  readonly onClose: () => void
}

export function RotateDkimDialog({ domain, isOpen, onClose }: RotateDkimDialogProps): ReactNode {
  const { domains, ui } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const [error, setError] = useState<string | null>(null)
  const rotate = useAction(rotateDkim, {
    invalidates: ['/public/domains'],
    onSuccess: () => {
      onClose()
      void navigate({ to: path(`/domains/${domain.id}`, { tab: 'keys' }) })
    },
    onError: ({ message }) => setError(message),
  })
  const obstacle = rotationObstacle(domain)
  const isDelegated = domain.dns_records.some(({ purpose, type }) => purpose === 'dkim' && type === 'CNAME')
  return (
    <Dialog
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      title={domains.rotate}
      description={isDelegated ? domains.rotateDelegatedText : domains.rotateText}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button
            variant="primary"
            isLoading={rotate.isPending}
            disabled={obstacle !== null}
            onClick={() => rotate.mutate({ params: { id: domain.id }, body: {} })}
          >
            {domains.rotate}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {obstacle !== null && <Callout tone="warning">{domains.obstacles[obstacle]}</Callout>}
        {error !== null && <Callout tone="danger">{error}</Callout>}
        <ol className="list-decimal space-y-1 pl-5">
          {domains.rotateSteps.slice(isDelegated ? 1 : 0).map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
      </div>
    </Dialog>
  )
}
