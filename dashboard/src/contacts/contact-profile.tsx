/** What is stored about a contact, beside its history. */
import type { ReactNode } from 'react'
import { getContactMemberships, updateContact, type Contact } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { ContactStatus, TagList } from '#dashboard/src/contact-list/contact-columns.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { Meter } from '#dashboard/src/ui/meter.tsx'
import { Percent } from '#dashboard/src/ui/numbers.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import type { Tone } from '#dashboard/src/ui/tone.ts'
import { writeAttribute } from './contact-form.ts'

const GOOD_SCORE = 0.7
const POOR_SCORE = 0.4

function toneOf(score: number): Tone {
  if (score >= GOOD_SCORE) return 'success'
  return score >= POOR_SCORE ? 'warning' : 'danger'
}

export function ContactProfile({ contact }: { readonly contact: Contact }): ReactNode {
  const { contacts } = useTexts()
  const score = contact.deliverabilityScore
  const attributes = Object.entries(contact.customAttributes)
  return (
    <div className="flex min-w-0 flex-col gap-6">
      <Section title={contacts.profile}>
        <Card>
          <KeyValueList items={profileItems(contact, contacts)} />
        </Card>
      </Section>
      <Section title={contacts.scoreTitle} description={contacts.scoreText}>
        <Card>
          {score === null ? (
            <p className="text-muted">{contacts.scoreUnknown}</p>
          ) : (
            <Meter label={contacts.score} value={score} max={1} tone={toneOf(score)} text={<Percent share={score} />} />
          )}
        </Card>
      </Section>
      <Memberships contact={contact} />
      <Section title={contacts.attributes}>
        <Card>
          {attributes.length === 0 ? (
            <p className="text-muted">{contacts.noAttributes}</p>
          ) : (
            <KeyValueList
              items={attributes.map(([name, value]) => ({
                key: name,
                label: <code className="font-mono text-xs break-all">{name}</code>,
                value: <span className="break-words">{writeAttribute(value)}</span>,
              }))}
            />
          )}
        </Card>
      </Section>
    </div>
  )
}

type ContactTexts = ReturnType<typeof useTexts>['contacts']

/** Fields without a value are left out. */
function profileItems(contact: Contact, texts: ContactTexts) {
  const rows: readonly (readonly [string, ReactNode])[] = [
    [texts.name, [contact.firstName, contact.lastName].filter((part) => part !== null).join(' ')],
    [texts.companyName, contact.companyName],
    [texts.jobTitle, contact.jobTitle],
    [texts.phoneNumber, contact.phoneNumber],
    [texts.linkedin, contact.linkedin],
    [texts.timezone, contact.timezone],
    [texts.tags, contact.tags.length === 0 ? null : <TagList key="tags" tags={contact.tags} />],
    [texts.added, <RelativeTime key="added" value={contact.createdAt} />],
  ]
  return rows.filter(([, value]) => value !== null && value !== '').map(([label, value]) => ({ label, value }))
}

function Memberships({ contact }: { readonly contact: Contact }): ReactNode {
  const { contacts } = useTexts()
  const path = useWorkspacePath()
  const canWrite = useCan()('contacts:write')
  const { data } = useApi(getContactMemberships, { query: { id: contact.id } })
  const unsubscribe = useAction(updateContact, { invalidates: ['/public/contacts', '/public/segments'] })
  const memberships = data?.data.memberships
  return (
    <Section title={contacts.memberships}>
      <Card>
        {memberships === undefined && <SkeletonLines lines={2} />}
        {memberships?.length === 0 && <p className="text-muted">{contacts.noMemberships}</p>}
        <ul className="flex flex-col gap-3">
          {memberships?.map(({ audience_id: id, audience_name: name, status, joined_at: joinedAt }) => (
            <li key={id} className="flex flex-wrap items-center justify-between gap-2">
              <span className="min-w-0">
                <LinkText href={path(`/audiences/${id}`)}>{name}</LinkText>
                <span className="block text-sm text-muted">
                  {contacts.joined} <RelativeTime value={joinedAt} />
                </span>
              </span>
              <span className="flex items-center gap-2">
                <ContactStatus status={status} />
                {canWrite && status === 'subscribed' && (
                  <Button
                    size="sm"
                    variant="ghost"
                    isLoading={unsubscribe.isPending && unsubscribe.variables.body?.audience_id === id}
                    onClick={() =>
                      unsubscribe.mutate({
                        query: { id: contact.id },
                        body: { audience_id: id, status: 'unsubscribed' },
                      })
                    }
                  >
                    {contacts.unsubscribe}
                  </Button>
                )}
              </span>
            </li>
          ))}
        </ul>
      </Card>
    </Section>
  )
}
