/**
 * A secret that is shown once. The dialog closes only by its button, so that nobody loses the secret by a stray click.
 */
import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { CopyField } from '#dashboard/src/ui/copy-field.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'

interface SecretDialogProps {
  readonly title: string
  readonly secret: string
  /** What the copy button is called. */
  readonly copyLabel: string
  readonly onDone: () => void
  /** How to use it. */
  readonly children?: ReactNode
}

export function SecretDialog({ title, secret, copyLabel, onDone, children }: SecretDialogProps): ReactNode {
  const { secrets } = useTexts()
  return (
    <Dialog
      isOpen
      onOpenChange={(open) => !open && onDone()}
      title={title}
      size="lg"
      footer={
        <Button variant="primary" onClick={onDone}>
          {secrets.done}
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        <Callout tone="warning" title={secrets.once}>
          {secrets.onceText}
        </Callout>
        <CopyField value={secret} label={copyLabel} />
        {children}
      </div>
    </Dialog>
  )
}
