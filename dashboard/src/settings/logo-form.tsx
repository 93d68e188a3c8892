import { useState, type ReactNode } from 'react'
import { deleteLogo, setLogo, type Branding } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { FileDrop } from '#dashboard/src/ui/file-drop.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'

const MAX_BYTES = 200 * 1024
const TYPES = 'image/png,image/jpeg,image/gif'
const INVALIDATES = ['/public/workspace/branding'] as const

/** The logo is stored as soon as it is chosen: it is no part of the draft. */
export function LogoForm({
  branding,
  mayChange,
}: {
  readonly branding: Branding
  readonly mayChange: boolean
}): ReactNode {
  const { branding: texts } = useTexts()
  const toast = useToast()
  const [problem, setProblem] = useState<string | null>(null)
  const store = useAction(setLogo, {
    invalidates: INVALIDATES,
    onSuccess: () => toast({ title: texts.logoStored }),
    onError: (error) => setProblem(error.details[0]?.message ?? error.message),
  })
  const remove = useAction(deleteLogo, {
    invalidates: INVALIDATES,
    onSuccess: () => toast({ title: texts.logoRemoved }),
  })
  const onFiles = ([file]: File[]): void => {
    if (file === undefined) return
    setProblem(file.size > MAX_BYTES ? texts.logoTooLarge : null)
    if (file.size <= MAX_BYTES)
      void toBase64(file).then((content) => store.mutate({ body: { content_base64: content } }))
  }
  return (
    <div className="flex flex-col gap-3">
      {branding.logo_url !== null && (
        <div className="flex flex-wrap items-center justify-between gap-3">
          <span className="text-muted">{texts.logoIsStored}</span>
          {mayChange && (
            <Button size="sm" isLoading={remove.isPending} onClick={() => remove.mutate({})}>
              {texts.removeLogo}
            </Button>
          )}
        </div>
      )}
      {mayChange && (
        <Field label={texts.logoFile} isLabelHidden error={problem}>
          <FileDrop accept={TYPES} onFiles={onFiles} isDisabled={store.isPending} hint={texts.logoHint} />
        </Field>
      )}
      {!mayChange && branding.logo_url === null && <p className="text-muted">{texts.noLogo}</p>}
    </div>
  )
}

async function toBase64(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  return btoa(Array.from(bytes, (byte) => String.fromCodePoint(byte)).join(''))
}
