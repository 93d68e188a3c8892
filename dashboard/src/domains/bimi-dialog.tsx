/** Sets the addresses of the logo and of the mark certificate. Without a logo there is no record. */
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { setBimi, type Domain } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'

interface BimiDialogProps {
  readonly domain: Domain
  readonly isOpen: boolean
  readonly onClose: () => void
}

export function BimiDialog({ domain, isOpen, onClose }: BimiDialogProps): ReactNode {
  const { domains, ui } = useTexts()
  const [logo, setLogo] = useState(domain.bimi.logo_url ?? '')
  const [certificate, setCertificate] = useState(domain.bimi.certificate_url ?? '')
  const [error, setError] = useState<ApiError | null>(null)
  const save = useAction(setBimi, {
    invalidates: ['/public/domains'],
    onSuccess: () => {
      setError(null)
      onClose()
    },
    onError: setError,
  })
  useFocusOnError(error)
  const errors = formErrors(error, ['logo_url', 'certificate_url'])
  const submit = (): void => {
    setError(null)
    const files = { logo_url: logo.trim() || null, certificate_url: certificate.trim() || null }
    save.mutate({ params: { id: domain.id }, body: files })
  }
  return (
    <Dialog
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      title={domains.purposes.bimi.title}
      description={domains.bimi.dialogText}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button type="submit" variant="primary" isLoading={save.isPending}>
            {domains.bimi.save}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
        <Field label={domains.bimi.logo} hint={domains.bimi.logoHint} error={errors.of('logo_url')}>
          <TextInput
            value={logo}
            onChange={setLogo}
            placeholder={`https://www.${domain.domain}/logo.svg`}
            autoComplete="off"
            spellCheck={false}
          />
        </Field>
        <Field
          label={domains.bimi.certificate}
          hint={domains.bimi.certificateHint}
          error={errors.of('certificate_url')}
        >
          <TextInput
            value={certificate}
            onChange={setCertificate}
            placeholder={`https://www.${domain.domain}/mark-certificate.pem`}
            autoComplete="off"
            spellCheck={false}
          />
        </Field>
      </div>
    </Dialog>
  )
}
