import type { ReactNode } from 'react'
import { Snippets } from '#dashboard/src/shared/snippets.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { VERIFY_SNIPPETS } from './verify-snippets.ts'

/** How a receiver proves that a request is from this server. */
export function VerifyGuide(): ReactNode {
  const { webhooks } = useTexts()
  return (
    <Section title={webhooks.verifyTitle} description={webhooks.verifyText}>
      <div className="flex flex-col gap-4">
        <Snippets label={webhooks.tabs.verify} snippets={VERIFY_SNIPPETS} />
        <ul className="list-disc space-y-1 pl-5 text-muted">
          {webhooks.verifyRules.map((rule) => (
            <li key={rule}>{rule}</li>
          ))}
        </ul>
        <p>
          <LinkText href="https://www.standardwebhooks.com/" isExternal>
            Standard Webhooks
          </LinkText>
        </p>
      </div>
    </Section>
  )
}
