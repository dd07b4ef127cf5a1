package epp

import (
	"encoding/xml"
	"fmt"
	"time"
)

// The namespaces of RFC 5730 to 5733, 5910 and 3915.
const (
	nsDomain  = "urn:ietf:params:xml:ns:domain-1.0"
	nsContact = "urn:ietf:params:xml:ns:contact-1.0"
	nsHost    = "urn:ietf:params:xml:ns:host-1.0"
	nsSecDNS  = "urn:ietf:params:xml:ns:secDNS-1.1"
	nsRGP     = "urn:ietf:params:xml:ns:rgp-1.0"
)

type empty struct{}

// frame is what is sent, and what is read.
type frame struct {
	XMLName  xml.Name  `xml:"urn:ietf:params:xml:ns:epp-1.0 epp"`
	Hello    *empty    `xml:"hello"`
	Greeting *greeting `xml:"greeting"`
	Command  *command  `xml:"command"`
	Response *response `xml:"response"`
}

type greeting struct {
	Menu struct {
		Versions   []string `xml:"version"`
		Languages  []string `xml:"lang"`
		Objects    []string `xml:"objURI"`
		Extensions []string `xml:"svcExtension>extURI"`
	} `xml:"svcMenu"`
}

type command struct {
	Check     *object    `xml:"check"`
	Create    *object    `xml:"create"`
	Delete    *object    `xml:"delete"`
	Info      *object    `xml:"info"`
	Login     *login     `xml:"login"`
	Logout    *empty     `xml:"logout"`
	Poll      *poll      `xml:"poll"`
	Renew     *object    `xml:"renew"`
	Transfer  *transfer  `xml:"transfer"`
	Update    *object    `xml:"update"`
	Extension *extension `xml:"extension"`
	ClientID  string     `xml:"clTRID"`
}

// object holds the subject of a command; its XML element has its own name.
type object struct{ About any }

type extension struct{ Of any }

type login struct {
	User     string   `xml:"clID"`
	Password string   `xml:"pw"`
	Version  string   `xml:"options>version"`
	Language string   `xml:"options>lang"`
	Objects  []string `xml:"svcs>objURI"`
	// Extensions is nil when there are none: an empty list is invalid.
	Extensions *extensions `xml:"svcs>svcExtension"`
}

type extensions struct {
	URIs []string `xml:"extURI"`
}

type poll struct {
	Op string `xml:"op,attr"`
	ID string `xml:"msgID,attr,omitempty"`
}

type transfer struct {
	Op    string `xml:"op,attr"`
	About domainTransfer
}

type response struct {
	Result []struct {
		Code    int      `xml:"code,attr"`
		Message string   `xml:"msg"`
		Reasons []string `xml:"extValue>reason"`
	} `xml:"result"`
	Queue *struct {
		ID      string `xml:"id,attr"`
		At      string `xml:"qDate"`
		Message string `xml:"msg"`
	} `xml:"msgQ"`
	Data struct {
		DomainChecks  []check         `xml:"urn:ietf:params:xml:ns:domain-1.0 chkData>cd"`
		Domain        *domainData     `xml:"urn:ietf:params:xml:ns:domain-1.0 infData"`
		Transfer      *transferData   `xml:"urn:ietf:params:xml:ns:domain-1.0 trnData"`
		DomainCreated *named          `xml:"urn:ietf:params:xml:ns:domain-1.0 creData"`
		DomainRenewed *named          `xml:"urn:ietf:params:xml:ns:domain-1.0 renData"`
		DomainAction  *named          `xml:"urn:ietf:params:xml:ns:domain-1.0 panData"`
		Host          *hostData       `xml:"urn:ietf:params:xml:ns:host-1.0 infData"`
		HostChecks    []check         `xml:"urn:ietf:params:xml:ns:host-1.0 chkData>cd"`
		Contact       *contactData    `xml:"urn:ietf:params:xml:ns:contact-1.0 infData"`
		ContactMade   *contactCreated `xml:"urn:ietf:params:xml:ns:contact-1.0 creData"`
	} `xml:"resData"`
	Extension struct {
		RGP struct {
			Statuses []status `xml:"rgpStatus"`
		} `xml:"urn:ietf:params:xml:ns:rgp-1.0 infData"`
		Updated struct {
			Statuses []status `xml:"rgpStatus"`
		} `xml:"urn:ietf:params:xml:ns:rgp-1.0 upData"`
		DS []dsData `xml:"urn:ietf:params:xml:ns:secDNS-1.1 infData>dsData"`
	} `xml:"extension"`
	ClientID string `xml:"trID>clTRID"`
	ServerID string `xml:"trID>svTRID"`
}

type named struct {
	Name string `xml:"name"`
}

type check struct {
	Name struct {
		Text      string `xml:",chardata"`
		Available string `xml:"avail,attr"`
	} `xml:"name"`
	Reason string `xml:"reason"`
}

// available parses XML Schema's booleans (true, 1, false, 0); nil for anything else.
func (c check) available() *bool {
	yes := c.Name.Available == "1" || c.Name.Available == "true"
	if !yes && c.Name.Available != "0" && c.Name.Available != "false" {
		return nil
	}
	return &yes
}

type status struct {
	S string `xml:"s,attr"`
}

type period struct {
	Unit  string `xml:"unit,attr"`
	Years int    `xml:",chardata"`
}

type domainContact struct {
	Type string `xml:"type,attr"`
	ID   string `xml:",chardata"`
}

type hosts struct {
	Names []string `xml:"hostObj"`
}

type domainCheck struct {
	XMLName xml.Name `xml:"urn:ietf:params:xml:ns:domain-1.0 check"`
	Names   []string `xml:"name"`
}

type domainInfo struct {
	XMLName xml.Name `xml:"urn:ietf:params:xml:ns:domain-1.0 info"`
	Name    string   `xml:"name"`
}

type domainCreate struct {
	XMLName  xml.Name        `xml:"urn:ietf:params:xml:ns:domain-1.0 create"`
	Name     string          `xml:"name"`
	Period   period          `xml:"period"`
	Hosts    *hosts          `xml:"ns"`
	Owner    string          `xml:"registrant,omitempty"`
	Contacts []domainContact `xml:"contact"`
	AuthCode string          `xml:"authInfo>pw"`
}

type domainRenew struct {
	XMLName xml.Name `xml:"urn:ietf:params:xml:ns:domain-1.0 renew"`
	Name    string   `xml:"name"`
	Expires string   `xml:"curExpDate"`
	Period  period   `xml:"period"`
}

type domainDelete struct {
	XMLName xml.Name `xml:"urn:ietf:params:xml:ns:domain-1.0 delete"`
	Name    string   `xml:"name"`
}

type domainTransfer struct {
	XMLName  xml.Name  `xml:"urn:ietf:params:xml:ns:domain-1.0 transfer"`
	Name     string    `xml:"name"`
	Period   *period   `xml:"period"`
	AuthInfo *authInfo `xml:"authInfo"`
}

type authInfo struct {
	Code string `xml:"pw"`
}

type domainUpdate struct {
	XMLName xml.Name      `xml:"urn:ietf:params:xml:ns:domain-1.0 update"`
	Name    string        `xml:"name"`
	Add     *domainDiff   `xml:"add"`
	Remove  *domainDiff   `xml:"rem"`
	Change  *domainChange `xml:"chg"`
}

type domainDiff struct {
	Hosts    *hosts          `xml:"ns"`
	Contacts []domainContact `xml:"contact"`
	Statuses []status        `xml:"status"`
}

type domainChange struct {
	Owner    string    `xml:"registrant,omitempty"`
	AuthInfo *authInfo `xml:"authInfo"`
}

type domainData struct {
	Name     string          `xml:"name"`
	Statuses []status        `xml:"status"`
	Owner    string          `xml:"registrant"`
	Contacts []domainContact `xml:"contact"`
	Hosts    struct {
		Names      []string `xml:"hostObj"`
		Attributes []string `xml:"hostAttr>hostName"`
	} `xml:"ns"`
	Below    []string `xml:"host"`
	Sponsor  string   `xml:"clID"`
	Created  string   `xml:"crDate"`
	Updated  string   `xml:"upDate"`
	Expires  string   `xml:"exDate"`
	AuthCode string   `xml:"authInfo>pw"`
}

type transferData struct {
	Name    string `xml:"name"`
	Status  string `xml:"trStatus"`
	AskedBy string `xml:"reID"`
	AskedAt string `xml:"reDate"`
}

type hostCheck struct {
	XMLName xml.Name `xml:"urn:ietf:params:xml:ns:host-1.0 check"`
	Names   []string `xml:"name"`
}

type hostInfo struct {
	XMLName xml.Name `xml:"urn:ietf:params:xml:ns:host-1.0 info"`
	Name    string   `xml:"name"`
}

type hostDelete struct {
	XMLName xml.Name `xml:"urn:ietf:params:xml:ns:host-1.0 delete"`
	Name    string   `xml:"name"`
}

type hostCreate struct {
	XMLName   xml.Name      `xml:"urn:ietf:params:xml:ns:host-1.0 create"`
	Name      string        `xml:"name"`
	Addresses []hostAddress `xml:"addr"`
}

type hostUpdate struct {
	XMLName xml.Name       `xml:"urn:ietf:params:xml:ns:host-1.0 update"`
	Name    string         `xml:"name"`
	Add     *hostAddresses `xml:"add"`
	Remove  *hostAddresses `xml:"rem"`
}

type hostAddresses struct {
	Addresses []hostAddress `xml:"addr"`
}

type hostAddress struct {
	Family string `xml:"ip,attr"`
	Text   string `xml:",chardata"`
}

type hostData struct {
	Name      string        `xml:"name"`
	Addresses []hostAddress `xml:"addr"`
}

type contactCreate struct {
	XMLName  xml.Name   `xml:"urn:ietf:params:xml:ns:contact-1.0 create"`
	ID       string     `xml:"id"`
	Postal   postalInfo `xml:"postalInfo"`
	Voice    string     `xml:"voice,omitempty"`
	Email    string     `xml:"email"`
	AuthCode string     `xml:"authInfo>pw"`
}

type contactDelete struct {
	XMLName xml.Name `xml:"urn:ietf:params:xml:ns:contact-1.0 delete"`
	ID      string   `xml:"id"`
}

type contactUpdate struct {
	XMLName xml.Name      `xml:"urn:ietf:params:xml:ns:contact-1.0 update"`
	ID      string        `xml:"id"`
	Change  contactChange `xml:"chg"`
}

type contactChange struct {
	Postal   []postalInfo `xml:"postalInfo"`
	Voice    *string      `xml:"voice"` // empty removes a former one
	Email    string       `xml:"email,omitempty"`
	Disclose *disclose    `xml:"disclose"`
}

type postalInfo struct {
	Type         string  `xml:"type,attr"`
	Name         string  `xml:"name"`
	Organization *string `xml:"org"`
	Street       string  `xml:"addr>street,omitempty"`
	City         string  `xml:"addr>city"`
	Region       string  `xml:"addr>sp,omitempty"`
	PostalCode   string  `xml:"addr>pc,omitempty"`
	Country      string  `xml:"addr>cc"`
}

type typed struct {
	Type string `xml:"type,attr"`
}

type disclose struct {
	Flag         string  `xml:"flag,attr"`
	Name         []typed `xml:"name"`
	Organization []typed `xml:"org"`
	Address      []typed `xml:"addr"`
	Voice        *empty  `xml:"voice"`
	Email        *empty  `xml:"email"`
}

type contactInfo struct {
	XMLName xml.Name `xml:"urn:ietf:params:xml:ns:contact-1.0 info"`
	ID      string   `xml:"id"`
}

type contactData struct {
	ID     string `xml:"id"`
	Postal []struct {
		Type string `xml:"type,attr"`
	} `xml:"postalInfo"`
	Sponsor  string    `xml:"clID"`
	Disclose *disclose `xml:"disclose"`
}

type contactCreated struct {
	ID string `xml:"id"`
}

type dsData struct {
	KeyTag     uint16 `xml:"keyTag"`
	Algorithm  uint8  `xml:"alg"`
	DigestType uint8  `xml:"digestType"`
	Digest     string `xml:"digest"`
}

type dnssecUpdate struct {
	XMLName xml.Name   `xml:"urn:ietf:params:xml:ns:secDNS-1.1 update"`
	Remove  *dsRemoval `xml:"rem"`
	Add     *dsList    `xml:"add"`
}

type dsRemoval struct {
	All bool `xml:"all"`
}

type dsList struct {
	DS []dsData `xml:"dsData"`
}

type restoreUpdate struct {
	XMLName xml.Name `xml:"urn:ietf:params:xml:ns:rgp-1.0 update"`
	Restore struct {
		Op     string         `xml:"op,attr"`
		Report *restoreReport `xml:"report"`
	} `xml:"restore"`
}

type restoreReport struct {
	Before     string   `xml:"preData"`
	After      string   `xml:"postData"`
	Deleted    string   `xml:"delTime"`
	Restored   string   `xml:"resTime"`
	Reason     string   `xml:"resReason"`
	Statements []string `xml:"statement"`
}

// instant parses a date and time; a registry may omit one.
func instant(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("epp: a time: %w", err)
	}
	return t.UTC(), nil
}
