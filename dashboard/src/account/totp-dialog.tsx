import { useEffect, useState, type ReactNode } from 'react'
import { confirmTotp, startTotp, type StartTotpAnswer } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { CopyField } from '#dashboard/src/ui/copy-field.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { QrCode } from '#dashboard/src/ui/qr-code.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { METHODS } from './method-paths.ts'

interface TotpDialogProps {
  readonly onClose: () => void
  readonly onAdded: (recoveryCodes: readonly string[]) => void
}

/** Adds an authenticator app. It counts once a code of the app was entered. */
export function TotpDialog({ onClose, onAdded }: TotpDialogProps): ReactNode {
  const { people, ui } = useTexts()
  const texts = people.account
  const [code, setCode] = useState('')
  const [offer, setOffer] = useState<StartTotpAnswer['data'] | null>(null)
  const { mutate: start, error: startError } = useAction(startTotp, {
    onSuccess: ({ data }) => setOffer(data),
    onError: () => undefined,
  })
  const confirm = useAction(confirmTotp, {
    invalidates: METHODS,
    onSuccess: ({ data }) => onAdded(data.recovery_codes),
    onError: () => undefined,
  })
  useEffect(() => start({}), [start])
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={texts.addTotp}
      description={texts.totpText}
      onSubmit={() => offer !== null && confirm.mutate({ body: { enrolment: offer.enrolment, code: code.trim() } })}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button variant="primary" type="submit" disabled={offer === null} isLoading={confirm.isPending}>
            {texts.confirm}
          </Button>
        </>
      }
    >
      {startError !== null && <Callout tone="danger">{startError.message}</Callout>}
      {startError === null && offer === null && <SkeletonLines lines={6} />}
      {offer !== null && (
        <div className="flex flex-col gap-4">
          <div className="flex justify-center">
            <QrCode text={offer.uri} label={texts.totpQr} />
          </div>
          <CopyField value={offer.secret} label={texts.totpKey} />
          <Field label={texts.code} error={confirm.error?.message} isRequired>
            <TextInput
              value={code}
              onChange={setCode}
              inputMode="numeric"
              autoComplete="one-time-code"
              isMono
              autoFocus
            />
          </Field>
        </div>
      )}
    </Dialog>
  )
}
