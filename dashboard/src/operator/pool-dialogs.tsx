import { useState, type ReactNode } from 'react'
import { adminAddPool, adminJoinPool, adminUsePool } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { NumberInput } from '#dashboard/src/ui/number-input.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { ActionDialog } from './action-dialog.tsx'
import { useOperatorAction } from './confirmation.tsx'

const CHANGED = ['/admin/sources', '/admin/pools']

export function AddPoolDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { operator } = useTexts()
  const { sources: texts } = operator
  const [name, setName] = useState('')
  const add = useOperatorAction(adminAddPool, CHANGED)
  return (
    <ActionDialog
      title={texts.addPool}
      text={texts.poolsText}
      label={texts.addPool}
      isReady={name !== ''}
      fields={['name']}
      run={() => add({ body: { name } })}
      onClose={onClose}
    >
      {(errors) => (
        <Field label={texts.name} error={errors.of('name')} isRequired>
          <TextInput value={name} onChange={setName} />
        </Field>
      )}
    </ActionDialog>
  )
}

interface JoinPoolDialogProps {
  readonly pool: string
  readonly sources: readonly string[]
  readonly onClose: () => void
}

/** Adds a source to a pool, or changes its weight there. */
export function JoinPoolDialog({ pool, sources, onClose }: JoinPoolDialogProps): ReactNode {
  const { operator } = useTexts()
  const { sources: texts } = operator
  const [source, setSource] = useState<string | null>(sources[0] ?? null)
  const [weight, setWeight] = useState<number | null>(1)
  const join = useOperatorAction(adminJoinPool, CHANGED)
  return (
    <ActionDialog
      title={texts.joinTitle(pool)}
      text={texts.poolsText}
      label={texts.join}
      isReady={source !== null}
      fields={['source', 'weight']}
      run={() => join({ params: { name: pool, source: source ?? '' }, body: weight === null ? {} : { weight } })}
      onClose={onClose}
    >
      {(errors) => (
        <>
          <Field label={operator.source} error={errors.of('source')} isRequired>
            <Select value={source} onChange={setSource} options={sources.map((value) => ({ value, label: value }))} />
          </Field>
          <Field label={texts.weight} hint={texts.weightHint} error={errors.of('weight')}>
            <NumberInput value={weight} onChange={setWeight} min={1} />
          </Field>
        </>
      )}
    </ActionDialog>
  )
}

interface UsePoolDialogProps {
  readonly pool: string
  readonly onClose: () => void
}

/** Sends the mail of a workspace, or of one of its domains, from a pool. */
export function UsePoolDialog({ pool, onClose }: UsePoolDialogProps): ReactNode {
  const { operator, administration } = useTexts()
  const { sources: texts } = operator
  const [workspace, setWorkspace] = useState('')
  const [domain, setDomain] = useState('')
  const use = useOperatorAction(adminUsePool, CHANGED)
  return (
    <ActionDialog
      title={texts.useTitle(pool)}
      text={texts.useText}
      label={texts.use}
      isReady={workspace !== ''}
      fields={['workspace', 'domain']}
      run={() => use({ body: { workspace, pool, ...(domain === '' ? {} : { domain }) } })}
      onClose={onClose}
    >
      {(errors) => (
        <>
          <Field
            label={operator.workspace}
            hint={operator.queue.subjectHints.workspace}
            error={errors.of('workspace')}
            isRequired
          >
            <TextInput value={workspace} onChange={setWorkspace} />
          </Field>
          <Field
            label={administration.workspaces.domain}
            hint={texts.onlyDomain}
            error={errors.of('domain')}
            isOptional
          >
            <TextInput value={domain} onChange={setDomain} />
          </Field>
        </>
      )}
    </ActionDialog>
  )
}
