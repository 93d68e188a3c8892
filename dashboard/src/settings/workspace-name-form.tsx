import { useState, type FormEvent, type ReactNode } from 'react'
import { changeWorkspace } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'

/** Renames the workspace. Roles without the permission read the name. */
export function WorkspaceNameForm({ name }: { readonly name: string }): ReactNode {
  const { people } = useTexts()
  const texts = people.settings
  const toast = useToast()
  const mayChange = useCan()('workspace:write')
  const [text, setText] = useState(name)
  const change = useAction(changeWorkspace, {
    invalidates: ['/public/workspace', '/auth/me'],
    onSuccess: () => toast({ title: texts.saved }),
    onError: () => undefined,
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    change.mutate({ body: { name: text } })
  }
  return (
    <form onSubmit={submit} className="flex flex-wrap items-end gap-3">
      <Field label={texts.name} error={change.error?.message} className="min-w-60 flex-1">
        <TextInput value={text} onChange={setText} maxLength={100} readOnly={!mayChange} required />
      </Field>
      {mayChange && (
        <Button type="submit" disabled={text.trim() === name} isLoading={change.isPending}>
          {texts.save}
        </Button>
      )}
    </form>
  )
}
