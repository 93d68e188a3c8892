import { Inbox } from '#dashboard/src/ui/icons.tsx'
import { useState } from 'react'
import { Card } from '#dashboard/src/ui/card.tsx'
import { cx } from '#dashboard/src/ui/class-names.ts'
import { CodeBlock } from '#dashboard/src/ui/code-block.tsx'
import { CopyField } from '#dashboard/src/ui/copy-field.tsx'
import { DiffView } from '#dashboard/src/ui/diff-view.tsx'
import { DnsRecord } from '#dashboard/src/ui/dns-record.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { MailFrame } from '#dashboard/src/ui/mail-frame.tsx'
import { QrCode } from '#dashboard/src/ui/qr-code.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { TabPanel, Tabs } from '#dashboard/src/ui/tabs.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { TwoPane } from '#dashboard/src/ui/two-pane.tsx'
import { listMessages, MAIL_HTML, SMTP_TALK, TEMPLATE_AFTER, TEMPLATE_BEFORE } from './gallery-data.ts'

const MAILS = listMessages(6)

function InboxExample() {
  const [id, setId] = useState<string | null>(MAILS[0]?.id ?? null)
  const [tab, setTab] = useState<'html' | 'phone' | 'source'>('html')
  const chosen = MAILS.find((mail) => mail.id === id)
  return (
    <TwoPane
      heightClass="lg:h-[30rem]"
      listLabel="Mails"
      detailLabel="Chosen mail"
      onBack={() => setId(null)}
      placeholder={<EmptyState icon={Inbox} title="Choose a mail" />}
      list={
        <ul className="divide-y divide-line">
          {MAILS.map((mail) => (
            <li key={mail.id}>
              <button
                type="button"
                aria-current={mail.id === id}
                onClick={() => setId(mail.id)}
                className={cx(
                  'block w-full px-4 py-2.5 text-left focus-visible:outline-offset-[-2px]',
                  mail.id === id ? 'bg-accent-soft' : 'hover:bg-hover',
                )}
              >
                <span className="flex justify-between gap-3 text-sm text-muted">
                  <span className="truncate">{mail.to}</span>
                  <RelativeTime value={mail.at} />
                </span>
                <span className="block truncate font-medium">{mail.subject}</span>
              </button>
            </li>
          ))}
        </ul>
      }
      detail={
        chosen === undefined ? null : (
          <div className="p-4">
            <h3 className="mb-2 text-lg font-semibold">{chosen.subject}</h3>
            <Tabs
              label="Views of the mail"
              value={tab}
              onChange={setTab}
              tabs={[
                { value: 'html', label: 'HTML' },
                { value: 'phone', label: 'Phone' },
                { value: 'source', label: 'Source' },
              ]}
            >
              <TabPanel value="html">
                <MailFrame html={MAIL_HTML} title={chosen.subject} />
              </TabPanel>
              <TabPanel value="phone">
                <MailFrame html={MAIL_HTML} title={chosen.subject} width={375} />
              </TabPanel>
              <TabPanel value="source">
                <CodeBlock title="Source" text={MAIL_HTML} />
              </TabPanel>
            </Tabs>
          </div>
        )
      }
    />
  )
}

export function MailParts() {
  return (
    <Section title="Mail" id="mail">
      <div className="grid gap-4">
        <DnsRecord
          type="TXT"
          purpose="DKIM"
          name="ms1._domainkey.mail.acme.example"
          value="v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu5oIUrFDWZK7F4thFxpZa2or6jBEX3cSL6b2TJdPkO5iNn9vHNXhNX31nOefN8FksX94YbLJ8NHcFPbaZTW8R2HthYxRaCyqodxlLHibg8aHdfa"
          ttl="1 h"
          status={{ tone: 'success', label: 'Found' }}
        />
        <DnsRecord
          type="MX"
          purpose="Bounces"
          name="bounce.mail.acme.example"
          value="mx1.mailstead.example"
          ttl="1 h"
          priority={10}
          status={{ tone: 'warning', label: 'Not found', isLive: true }}
          reason="The DNS of acme.example answers NXDOMAIN. Add the record, then wait up to an hour; the next check is in 2 minutes."
        />
        <div className="grid gap-4 lg:grid-cols-2">
          <CodeBlock title="Attempt 2, mx.google.com" text={SMTP_TALK} hasLineNumbers />
          <DiffView label="Version 3 and version 4" before={TEMPLATE_BEFORE} after={TEMPLATE_AFTER} context={1} />
        </div>
        <Card className="flex flex-wrap items-center gap-5">
          <QrCode text="otpauth://totp/Mailstead:ada?secret=JBSWY3DPEHPK3PXP" label="QR code for your authenticator" />
          <div className="min-w-0 flex-1 basis-64">
            <p className="mb-2 text-muted">Scan the code with your authenticator, or type the key.</p>
            <CopyField label="Copy the key" value="JBSWY3DPEHPK3PXP" />
          </div>
        </Card>
        <InboxExample />
      </div>
    </Section>
  )
}
