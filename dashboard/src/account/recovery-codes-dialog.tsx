import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { CodeBlock } from '#dashboard/src/ui/code-block.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'

interface RecoveryCodesDialogProps {
  readonly codes: readonly string[]
  readonly onClose: () => void
}

/** Recovery codes, which the server shows once. */
export function RecoveryCodesDialog({ codes, onClose }: RecoveryCodesDialogProps): ReactNode {
  const { people } = useTexts()
  const texts = people.account
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={texts.codesTitle}
      description={texts.codesText}
      footer={
        <Button variant="primary" onClick={onClose}>
          {people.team.done}
        </Button>
      }
    >
      <CodeBlock text={codes.join('\n')} title={texts.codes} />
    </Dialog>
  )
}
