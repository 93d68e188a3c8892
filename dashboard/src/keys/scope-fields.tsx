import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Checkbox } from '#dashboard/src/ui/checkbox.tsx'
import { ALL_SCOPES, SCOPE_GROUPS, type Scope, type ScopeGroup } from './scopes.ts'

interface ScopeFieldsProps {
  readonly scopes: readonly Scope[]
  readonly onChange: (scopes: readonly Scope[]) => void
  readonly error: string | undefined
  /** The scopes that may be chosen; by default all. */
  readonly choices?: readonly Scope[]
}

/** The scopes of an Admin key in groups, and all at once. */
export function ScopeFields({ scopes, onChange, error, choices = ALL_SCOPES }: ScopeFieldsProps): ReactNode {
  const { keys } = useTexts()
  const toggle = (changed: readonly Scope[], isOn: boolean): void =>
    onChange(choices.filter((scope) => (changed.includes(scope) ? isOn : scopes.includes(scope))))
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="mb-2 text-sm font-medium">{keys.scopes}</legend>
      <Checkbox
        isChecked={scopes.length === ALL_SCOPES.length}
        isMixed={scopes.length > 0 && scopes.length < ALL_SCOPES.length}
        isDisabled={choices.length < ALL_SCOPES.length}
        onChange={(isOn) => toggle(ALL_SCOPES, isOn)}
        label={keys.allScopes}
        hint={keys.allScopesHint}
      />
      {error !== undefined && (
        <p role="alert" className="text-sm text-danger-text">
          {error}
        </p>
      )}
      <div className="grid gap-x-6 gap-y-4 sm:grid-cols-2">
        {(Object.keys(SCOPE_GROUPS) as ScopeGroup[]).map((group) => (
          <div key={group} className="flex flex-col gap-2">
            <h3 className="text-sm font-medium text-muted">{keys.scopeGroups[group]}</h3>
            {SCOPE_GROUPS[group].map((scope) => (
              <Checkbox
                key={scope}
                isChecked={scopes.includes(scope)}
                isDisabled={!choices.includes(scope)}
                onChange={(isOn) => toggle([scope], isOn)}
                label={keys.scopeTexts[scope]}
                hint={<code className="font-mono text-xs">{scope}</code>}
              />
            ))}
          </div>
        ))}
      </div>
    </fieldset>
  )
}
