import { Braces } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'

/** HTML cannot become blocks again, so this asks first. */
export function SwitchToCode({ onSwitch }: { readonly onSwitch: () => void }): ReactNode {
  const { templates } = useTexts()
  const [isOpen, setOpen] = useState(false)
  return (
    <div>
      <Button variant="ghost" size="sm" icon={Braces} onClick={() => setOpen(true)}>
        {templates.switchToCode}
      </Button>
      <ConfirmDialog
        isOpen={isOpen}
        onOpenChange={setOpen}
        title={templates.switchTitle}
        text={templates.switchText}
        confirmLabel={templates.switchConfirm}
        onConfirm={() => {
          setOpen(false)
          onSwitch()
        }}
      />
    </div>
  )
}
