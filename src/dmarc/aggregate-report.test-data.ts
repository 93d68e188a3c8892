/**
 * DMARC aggregate reports in the form that six receivers send them, about the domain shop.example: their elements,
 * order, case, namespaces, missing fields and ways of packing. Addresses and domains are of documentation.
 */

export type Packing = 'zip' | 'gzip' | 'plain'

export interface ReportSample {
  readonly receiver: string
  readonly packing: Packing
  /** The media type of the part, and its name. */
  readonly type: string
  readonly filename: string
  readonly from: string
  readonly xml: string
  /** What is read: organisation, id, policy, records as `address messages disposition dkim spf`. */
  readonly expected: readonly string[]
}

const [BEGIN, END] = [1_790_000_000 - (1_790_000_000 % 86_400), 1_790_000_000 - (1_790_000_000 % 86_400) + 86_399]

/** Google: zip, no version, extra_contact_info, CRLF; a forwarder with an override. */
const GOOGLE: ReportSample = {
  receiver: 'Google',
  packing: 'zip',
  type: 'application/zip',
  filename: `google.example!shop.example!${BEGIN}!${END}.zip`,
  from: 'noreply-dmarc-support@google.example',
  xml: `<?xml version="1.0" encoding="UTF-8" ?>
<feedback>
  <report_metadata>
    <org_name>google.example</org_name>
    <email>noreply-dmarc-support@google.example</email>
    <extra_contact_info>https://support.google.example/a/answer/2466580</extra_contact_info>
    <report_id>8293631894893125362</report_id>
    <date_range><begin>${BEGIN}</begin><end>${END}</end></date_range>
  </report_metadata>
  <policy_published>
    <domain>shop.example</domain><adkim>r</adkim><aspf>r</aspf><p>none</p><sp>none</sp><pct>100</pct><np>none</np>
  </policy_published>
  <record>
    <row>
      <source_ip>192.0.2.10</source_ip><count>812</count>
      <policy_evaluated><disposition>none</disposition><dkim>pass</dkim><spf>pass</spf></policy_evaluated>
    </row>
    <identifiers><header_from>shop.example</header_from></identifiers>
    <auth_results>
      <dkim><domain>shop.example</domain><result>pass</result><selector>ms-1</selector></dkim>
      <dkim><domain>shop.example</domain><result>pass</result><selector>ms-1-ed</selector></dkim>
      <spf><domain>bounce.shop.example</domain><result>pass</result></spf>
    </auth_results>
  </record>
  <record>
    <row>
      <source_ip>2001:db8:4860::26</source_ip><count>3</count>
      <policy_evaluated>
        <disposition>none</disposition><dkim>fail</dkim><spf>fail</spf>
        <reason><type>local_policy</type><comment>arc=pass</comment></reason>
      </policy_evaluated>
    </row>
    <identifiers><header_from>shop.example</header_from></identifiers>
    <auth_results><spf><domain>list.example</domain><result>pass</result></spf></auth_results>
  </record>
</feedback>`.replaceAll('\n', '\r\n'),
  expected: [
    'google.example 8293631894893125362 none',
    '192.0.2.10 812 none pass pass',
    '2001:db8:4860::26 3 none fail fail local_policy',
  ],
}

/** Microsoft: gzip today, zip before; xsi namespaces, envelope_to, upper-case results of older servers. */
const MICROSOFT: ReportSample = {
  receiver: 'Microsoft',
  packing: 'gzip',
  type: 'application/gzip',
  filename: `protection.outlook.example!shop.example!${BEGIN}!${END}.xml.gz`,
  from: 'dmarcreport@microsoft.example',
  xml: `\uFEFF<?xml version="1.0"?>
<feedback xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<version>1.0</version><report_metadata><org_name>Enterprise Outlook</org_name>
<email>dmarcreport@microsoft.example</email><report_id>4f1c2c9d6f0b4a5c8ed0a7e6</report_id><date_range>
<begin>${BEGIN}</begin><end>${END}</end></date_range></report_metadata><policy_published>
<domain>shop.example</domain><adkim>r</adkim><aspf>r</aspf><p>Quarantine</p><sp>Quarantine</sp><pct>100</pct>
<fo>0</fo></policy_published><record><row><source_ip>198.51.100.7</source_ip><count>41</count>
<policy_evaluated><disposition>Quarantine</disposition><dkim>FAIL</dkim><spf>Fail</spf></policy_evaluated>
</row><identifiers><envelope_to>contoso.example</envelope_to><envelope_from>crm.example</envelope_from>
<header_from>SHOP.example</header_from></identifiers><auth_results><dkim><domain>crm.example</domain>
<selector>k1</selector><result>PASS</result></dkim><spf><domain>crm.example</domain><scope>mfrom</scope>
<result>Pass</result></spf></auth_results></record></feedback>`,
  expected: ['Enterprise Outlook 4f1c2c9d6f0b4a5c8ed0a7e6 quarantine', '198.51.100.7 41 quarantine fail fail'],
}

/** Yahoo: gzip, the author's domain differs from that of the email, so its file name names it; empty scope. */
const YAHOO: ReportSample = {
  receiver: 'Yahoo',
  packing: 'gzip',
  type: 'application/gzip',
  filename: `yahoo.example!shop.example!${BEGIN}!${END}.xml.gz`,
  from: 'noreply@dmarc.yahoo.example',
  xml: `<?xml version="1.0"?>
<feedback>
<report_metadata>
<org_name>Yahoo</org_name>
<email>dmarchelp@yahooinc.example</email>
<report_id>1789999999.182937</report_id>
<date_range>
<begin>${BEGIN}</begin>
<end>${END} </end>
</date_range>
</report_metadata>
<policy_published>
<domain>shop.example</domain>
<adkim>r</adkim>
<aspf>r</aspf>
<p>none</p>
<pct>100</pct>
</policy_published>
<record>
<row>
<source_ip>192.0.2.10</source_ip>
<count>1</count>
<policy_evaluated>
<disposition>none</disposition>
<dkim>pass</dkim>
<spf>fail</spf>
</policy_evaluated>
</row>
<identifiers>
<header_from>shop.example</header_from>
</identifiers>
<auth_results>
<dkim>
<domain>shop.example</domain>
<selector>ms-1</selector>
<result>pass</result>
</dkim>
<spf>
<domain>bounces.operator.example</domain>
<result>pass</result>
</spf>
</auth_results>
</record>
<record>
<row>
<source_ip>192.0.2.10</source_ip>
<count>4</count>
<policy_evaluated>
<disposition>none</disposition>
<dkim>pass</dkim>
<spf>fail</spf>
</policy_evaluated>
</row>
<identifiers>
<header_from>shop.example</header_from>
</identifiers>
<auth_results>
<dkim>
<domain>shop.example</domain>
<selector>ms-1-ed</selector>
<result>pass</result>
</dkim>
<spf>
<domain>bounces.operator.example</domain>
<result>pass</result>
</spf>
</auth_results>
</record>
</feedback>`,
  expected: ['Yahoo 1789999999.182937 none', '192.0.2.10 5 none pass fail'],
}

/** Mail.ru: gzip with a subdomain as author, no pct, an override with a hyphen, several reasons. */
const MAIL_RU: ReportSample = {
  receiver: 'Mail.ru',
  packing: 'gzip',
  type: 'application/x-gzip',
  filename: `mail.example!shop.example!${BEGIN}!${END}.xml.gz`,
  from: 'dmarc_support@corp.mail.example',
  xml: `<?xml version="1.0" encoding="UTF-8"?>
<feedback><version>1.0</version>
<report_metadata><org_name>Mail.Example</org_name><email>dmarc_support@corp.mail.example</email>
<extra_contact_info>http://help.mail.example/mail-help</extra_contact_info>
<report_id>31873821796213947391789948800</report_id><date_range><begin>${BEGIN}</begin><end>${END}</end>
</date_range></report_metadata>
<policy_published><domain>shop.example</domain><adkim>r</adkim><aspf>r</aspf><p>reject</p><sp></sp></policy_published>
<record><row><source_ip>203.0.113.9</source_ip><count>2</count><policy_evaluated>
<disposition>none</disposition><dkim>fail</dkim><spf>fail</spf><reason><type>mailing-list</type></reason>
<reason><type>other</type><comment>known list</comment></reason></policy_evaluated></row><identifiers>
<envelope_from></envelope_from><header_from>shop.example</header_from></identifiers><auth_results><dkim>
<domain>shop.example</domain><selector>ms-1</selector><result>fail</result></dkim><spf>
<domain>lists.example</domain><scope>mfrom</scope><result>pass</result></spf></auth_results></record>
</feedback>`,
  expected: ['Mail.Example 31873821796213947391789948800 reject', '203.0.113.9 2 none fail fail mailing_list'],
}

/** Amazon SES: gzip inside octet-stream, no auth_results for DKIM, counts with spaces. */
const AMAZON: ReportSample = {
  receiver: 'Amazon SES',
  packing: 'plain',
  type: 'application/octet-stream',
  filename: `amazonses.example!shop.example!${BEGIN}!${END}.xml`,
  from: 'postmaster@amazonses.example',
  xml: `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<feedback xmlns="http://dmarc.org/dmarc-xml/0.1">
    <version>0.1</version>
    <report_metadata>
        <org_name>AMAZON-SES</org_name>
        <email>postmaster@amazonses.example</email>
        <report_id>9f7a3c42-3a26-4a4a-b7cb-18b1aa0f7a52</report_id>
        <date_range>
            <begin>${BEGIN}</begin>
            <end>${END}</end>
        </date_range>
    </report_metadata>
    <policy_published>
        <domain>shop.example</domain>
        <adkim>r</adkim>
        <aspf>r</aspf>
        <p>none</p>
        <sp>reject</sp>
        <pct>50</pct>
        <fo>0</fo>
    </policy_published>
    <record>
        <row>
            <source_ip>192.0.2.200</source_ip>
            <count> 17 </count>
            <policy_evaluated>
                <disposition>reject</disposition>
                <dkim>fail</dkim>
                <spf>fail</spf>
            </policy_evaluated>
        </row>
        <identifiers>
            <envelope_from>spammer.example</envelope_from>
            <header_from>news.shop.example</header_from>
        </identifiers>
        <auth_results>
            <spf>
                <domain>spammer.example</domain>
                <result>softfail</result>
            </spf>
        </auth_results>
    </record>
</feedback>`,
  expected: ['AMAZON-SES 9f7a3c42-3a26-4a4a-b7cb-18b1aa0f7a52 none', '192.0.2.200 17 reject fail fail'],
}

/** Fastmail: RFC 9990 with a namespace and a prefix, a generator and discovery method, zip; an invalid record. */
const FASTMAIL: ReportSample = {
  receiver: 'Fastmail',
  packing: 'zip',
  type: 'application/x-zip-compressed',
  filename: `fastmail.example!shop.example!${BEGIN}!${END}!r1.zip`,
  from: 'reports@fastmaildmarc.example',
  xml: `<?xml version="1.0" encoding="UTF-8"?>
<!-- made for a test -->
<d:feedback xmlns:d="urn:ietf:params:xml:ns:dmarc-2.0">
<d:version>2.0</d:version>
<d:report_metadata><d:org_name><![CDATA[Fastmail Pty Ltd]]></d:org_name>
<d:email>reports@fastmaildmarc.example</d:email><d:report_id>&lt;1234&#45;5&gt;</d:report_id><d:date_range>
<d:begin>${BEGIN}</d:begin><d:end>${END}</d:end></d:date_range><d:generator>x</d:generator></d:report_metadata>
<d:policy_published><d:domain>shop.example.</d:domain><d:discovery_method>treewalk</d:discovery_method>
<d:p>quarantine</d:p><d:testing>n</d:testing></d:policy_published>
<d:record><d:row><d:source_ip>2001:DB8::1</d:source_ip><d:count>6</d:count><d:policy_evaluated>
<d:disposition>pass</d:disposition><d:dkim>pass</d:dkim><d:spf>fail</d:spf></d:policy_evaluated></d:row>
<d:identifiers><d:header_from>shop.example</d:header_from></d:identifiers><d:auth_results><d:dkim>
<d:domain>shop.example</d:domain><d:selector>a</d:selector><d:result>pass</d:result><d:human_result/></d:dkim>
</d:auth_results></d:record>
<d:record><d:row><d:source_ip>unknown</d:source_ip><d:count>1</d:count></d:row><d:identifiers>
<d:header_from>shop.example</d:header_from></d:identifiers></d:record>
</d:feedback>`,
  expected: ['Fastmail Pty Ltd <1234-5> quarantine', '2001:db8::1 6 none pass fail', 'skipped 1'],
}

export const REPORT_SAMPLES: readonly ReportSample[] = [GOOGLE, MICROSOFT, YAHOO, MAIL_RU, AMAZON, FASTMAIL]
