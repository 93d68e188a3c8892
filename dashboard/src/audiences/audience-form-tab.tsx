/** The form by which people subscribe: what they see, and the code for a site. */
import type { ReactNode } from 'react'
import type { Audience } from '#dashboard/src/api/endpoints.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { CodeBlock } from '#dashboard/src/ui/code-block.tsx'
import { CopyField } from '#dashboard/src/ui/copy-field.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { SegmentedControl } from '#dashboard/src/ui/segmented-control.tsx'
import { embedCode, type EmbedKind } from './embed-code.ts'
import { FormPreview } from './form-preview.tsx'

const KINDS: readonly EmbedKind[] = ['form', 'link', 'fetch']

export function AudienceFormTab({ audience }: { readonly audience: Audience }): ReactNode {
  const { audiences: texts } = useTexts()
  const [search, change] = useAddressSearch()
  const kind = KINDS.find((one) => one === search['code']) ?? 'form'
  const { subscribeUrl: url, name } = audience
  return (
    <div className="grid gap-8 lg:grid-cols-2">
      <div className="flex min-w-0 flex-col gap-8">
        <Section title={texts.formLink} description={texts.formLinkText}>
          <div className="flex flex-col gap-2">
            <CopyField value={url} label={texts.copyLink} />
            <LinkText href={url} isExternal>
              {texts.openForm}
            </LinkText>
          </div>
        </Section>
        <Section
          title={texts.embed}
          description={texts.embedTexts[kind]}
          actions={
            <SegmentedControl
              size="sm"
              label={texts.embed}
              value={kind}
              onChange={(code) => change({ code })}
              segments={KINDS.map((value) => ({ value, label: texts.embedKinds[value] }))}
            />
          }
        >
          <CodeBlock title={texts.embedKinds[kind]} text={embedCode(kind, url, name)} isWrapped />
        </Section>
        <Callout title={audience.double_opt_in ? texts.doubleTitle : texts.singleTitle}>
          {audience.double_opt_in ? texts.doubleText : texts.singleText}
        </Callout>
      </div>
      <Section title={texts.preview} description={texts.previewText}>
        <FormPreview name={name} isDoubleOptIn={audience.double_opt_in} />
      </Section>
    </div>
  )
}
