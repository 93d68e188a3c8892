import { useState, type ReactNode } from 'react'
import { resendEmail } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Checkbox } from '#dashboard/src/ui/checkbox.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { useNavigateTo } from '#dashboard/src/ui/ui-link.tsx'
import type { Message } from './message-page.tsx'

interface ResendDialogProps {
  readonly message: Message
  /** The addresses that are chosen at first. */
  readonly initial: readonly string[]
  readonly onClose: () => void
}

/** Sends the message again, as a new one with the same content, to the chosen recipients. */
export function ResendDialog({ message, initial, onClose }: ResendDialogProps): ReactNode {
  const { messages, mailView, shell } = useTexts()
  const toast = useToast()
  const path = useWorkspacePath()
  const navigate = useNavigateTo()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(initial))
  const [error, setError] = useState<string | null>(null)
  const resend = useAction(resendEmail, {
    invalidates: ['/public/emails'],
    onSuccess: (answer) => {
      toast({
        title: messages.sentAgain(chosen.size),
        action: { label: messages.openMessage, onClick: () => navigate(path(`/messages/${answer.email_id}`)) },
      })
      onClose()
    },
    onError: (failure) => setError(failure.message),
  })
  const toggle = (address: string, isChosen: boolean): void =>
    setChosen(new Set(isChosen ? [...chosen, address] : [...chosen].filter((one) => one !== address)))
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={messages.sendAgain}
      description={messages.sendAgainText}
      onSubmit={() => {
        if (chosen.size > 0) resend.mutate({ params: { id: message.email_id }, body: { to: [...chosen] } })
      }}
      footer={
        <>
          <Button onClick={onClose}>{shell.cancel}</Button>
          <Button type="submit" variant="primary" isLoading={resend.isPending} disabled={chosen.size === 0}>
            {messages.sendToCount(chosen.size)}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-2">
        {message.recipients.map(({ address, state }) => (
          <Checkbox
            key={address}
            label={address}
            hint={mailView.statuses[state]}
            isChecked={chosen.has(address)}
            onChange={(isChosen) => toggle(address, isChosen)}
          />
        ))}
        {error !== null && (
          <p role="alert" className="text-danger-text">
            {error}
          </p>
        )}
      </div>
    </Dialog>
  )
}
